import { globSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { EVERYDAY_VERSION, OTHER_VERSIONS, type OtherVersion } from '../control-plane/kubernetes.ts';

const files = (...names: readonly string[]) => names.map((name) => `test/e2e/${name}.test.ts`);

/** What `npm test` leaves to `npm run test:nightly`: it waits for minutes, is about the rig itself, or needs the history. By its name each runs at any time. */
export const ONLY_NIGHTLY = [
  ...files('faults', 'cluster-trust', 'drift-leader', 'karpenter*', 'upgrade'),
  ...files('rig', 'rig-faults', 'rig-kubelets', 'rig-replicas'),
  ...['demo', 'disk-pressure', 'nftables', 'one-node', 'two-nodes', 'outages-*'].map(
    (name) => `test/real-node/${name}.test.ts`,
  ),
];

/** What draws its cases: every night others, and more of them. */
export const DRAWN = files(
  'match-conditions',
  'native-nodes.property',
  'native-daemon-sets.property',
  'native-pods.property',
  'policy-validation',
  'crds',
);

/** What depends on the API server's version. */
const VERSION_MATTERS = files('kubernetes-version', 'crds', 'policy-validation', 'match-conditions*', 'native-*');

/** What has nothing to do with it: the rig itself, and the demo. */
const VERSION_IS_NOTHING = files('rig*', 'demo');

/** The vitest project of the tests on another version of Kubernetes. */
export const projectOf = (version: OtherVersion) => `e2e-${version}`;

/** The version of such a project; `undefined` for the others. */
export function otherVersionOf(project: string): OtherVersion | undefined {
  return OTHER_VERSIONS.find((version) => projectOf(version) === project);
}

/** Those of `npm test` that need more than Node.js. */
export const EVERYDAY_PROJECTS = ['tools', 'browser', 'e2e', projectOf(EVERYDAY_VERSION), 'real-node'];

/**
 * What runs on another version: what depends on it, or nearly everything. TAINTKEEPER_TEST_ALL says where all runs: `1` for every version,
 * or one of them.
 */
export function onOtherKubernetes(version: OtherVersion): { include: string[]; exclude?: string[] } {
  if (!['1', version].includes(process.env.TAINTKEEPER_TEST_ALL ?? '')) return { include: VERSION_MATTERS };
  return { include: files('*'), exclude: VERSION_IS_NOTHING };
}

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Whether tests on real nodes are asked for: the programs and the image that they take are built for nobody else.
 * @param filter parts of paths, as vitest takes them, with or without a line; none: everything
 */
export function asksForRealNodes(
  filter: readonly string[],
  projects: string | readonly string[] = 'real-node',
): boolean {
  if (![projects].flat().some((project) => project.includes('real-node') || /[*!]/.test(project))) return false;
  const parts = filter.map((part) => normalize(part.replace(/:\d+$/, '')));
  if (parts.length === 0) return true;
  return globSync('test/real-node/**/*.test.ts', { cwd: ROOT }).some((file) =>
    parts.some((part) => join(ROOT, file).includes(part)),
  );
}
