import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findAssets } from '../../control-plane/assets.ts';
import { conformanceFile } from '../../control-plane/conformance.ts';
import { launch } from '../../control-plane/process.ts';
import { admin } from '../../control-plane/users.ts';
import { createWorkspace } from '../../control-plane/workspace.ts';
import type { RealCluster } from '../real-cluster.ts';
import { parseReport, type SpecResult } from './results.ts';
import { SKIP } from './specs.ts';

/** Far more than they take. Ginkgo ends them and reports what ran until then. */
const LIMIT = '4h';
/** How many specs run at a time, except for those that are marked as serial. */
const PROCESSES = 3;

/**
 * Runs Kubernetes' own tests against a cluster, in the same order each time.
 * @param focus regular expressions, one of which has to match a spec's whole name
 * @throws Error with the end of the log when there is no report
 */
export async function runSpecs(cluster: RealCluster, focus: readonly string[]): Promise<SpecResult[]> {
  const workspace = createWorkspace('conformance');
  try {
    const ginkgo = await launch(
      'ginkgo',
      conformanceFile('ginkgo'),
      [
        `--procs=${PROCESSES}`,
        `--timeout=${LIMIT}`,
        '--seed=1',
        '--no-color',
        `--output-dir=${workspace.path('.')}`,
        '--json-report=report.json',
        ...focus.map((pattern) => `--focus=${pattern}`),
        ...SKIP.map(({ pattern }) => `--skip=${pattern}`),
        conformanceFile('e2e.test'),
        '--',
        `--kubeconfig=${await cluster.kubeconfigFile(admin)}`,
        `--kubectl-path=${join(findAssets('newest').folder, 'kubectl')}`,
        '--provider=skeleton',
        `--num-nodes=${cluster.nodes.length}`,
        '--disable-log-dump',
      ],
      { logFile: workspace.logFile('ginkgo'), env: { ...process.env, HOME: workspace.path('.') } },
    );
    await ginkgo.ended;
    try {
      return parseReport(readFileSync(workspace.path('report.json'), 'utf8'));
    } catch (cause) {
      throw new Error(ginkgo.failure('left no report that can be read').message, { cause });
    }
  } finally {
    workspace.remove();
  }
}
