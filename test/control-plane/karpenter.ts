import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ControlPlane } from './control-plane.ts';
import { freePorts } from './free-ports.ts';
import { cacheFolder, type GoModule } from './go-modules.ts';
import { whyNotBuilt } from './not-built.ts';
import { launch, type Supervised } from './process.ts';
import { admin } from './users.ts';
import { waitUntil } from './wait-until.ts';
import { createWorkspace } from './workspace.ts';

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 5_000;

/** Karpenter with its KWOK provider: its machines are Node objects that register. A test can act as their kubelet. */
export const KARPENTER: GoModule = {
  folder: join(import.meta.dirname, 'karpenter'),
  packages: { karpenter: 'sigs.k8s.io/karpenter/kwok' },
  files: [
    'pkg/apis/crds/karpenter.sh_nodepools.yaml',
    'pkg/apis/crds/karpenter.sh_nodeclaims.yaml',
    'pkg/apis/crds/karpenter.sh_nodeoverlays.yaml',
    'kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml',
  ],
  linkerVariables: (version) => ({ 'sigs.k8s.io/karpenter/pkg/operator.Version': version.slice(1) }),
};

/** Why there is no Karpenter, if so. */
export function obstacleToKarpenter(): string | undefined {
  return existsSync(join(cacheFolder(KARPENTER), 'karpenter'))
    ? undefined
    : whyNotBuilt(KARPENTER, 'karpenter', 'npm run control-plane:build karpenter');
}

/** Creates Karpenter's CustomResourceDefinitions, as they come with its module. */
export async function defineNodePools(cp: ControlPlane): Promise<void> {
  const texts = (KARPENTER.files ?? []).map((file) =>
    readFileSync(join(cacheFolder(KARPENTER), basename(file)), 'utf8'),
  );
  const { code, stderr } = await cp.kubectl(['apply', '--server-side', '-f', '-'], { input: texts.join('\n---\n') });
  if (code !== 0) throw new Error(stderr);
  const names = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'kwoknodeclasses.karpenter.kwok.sh'];
  const established = names.map((name) => `crd/${name}`);
  const waited = await cp.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...established]);
  if (waited.code !== 0) throw new Error(waited.stderr);
}

/**
 * Starts it, with all rights, and waits until it is ready.
 * @throws Error with the end of its log when it ends early, or is not ready within 60 s
 */
export async function startKarpenter(cp: ControlPlane): Promise<Supervised> {
  const [metrics, health] = await freePorts(2);
  const workspace = createWorkspace('karpenter');
  const args = [`--metrics-port=${metrics}`, `--health-probe-port=${health}`, '--disable-leader-election=true'];
  const env = { ...process.env, KUBECONFIG: await cp.kubeconfigFile(admin), SYSTEM_NAMESPACE: 'kube-system' };
  const child = await launch('karpenter', join(cacheFolder(KARPENTER), 'karpenter'), args, {
    logFile: workspace.logFile('karpenter'),
    env,
  });
  void child.ended.then(() => workspace.remove());
  await waitUntil(
    async () => {
      if (child.exit) throw child.failure('ended early');
      return (await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined))?.ok || undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS, otherwise: () => child.failure('is not ready').message },
  );
  return child;
}

/** Ends it. */
export const stopKarpenter = (karpenter: Supervised | undefined) => karpenter?.stop(STOP_GRACE_MS);
