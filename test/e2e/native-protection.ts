import { expect } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin, developer, serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { MASTER } from '../unit/judge/request/daemon-set-cases.ts';
import { type DaemonSet, daemonSetPath, flannelManifest } from './daemon-sets.ts';
import { type Attempt, attempt, GPU, type Node, path, type Taint, taintsOf } from './nodes.ts';

const EFFECT_TIMEOUT_MS = 20_000;

const taintPolicy = (name: string, mode: string, taint: string) => `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: ${name} }
spec: { mode: ${mode}, nodeSelector: { matchLabels: { pool: ${name} } }, taints: [{ ${taint} }] }
`;

/** Policies of every mode, for nodes of a pool that is called as they are, and for DaemonSets in two namespaces; and one for pods. */
export const PROTECTION = [
  taintPolicy('deny', 'Deny', 'key: dedicated'),
  taintPolicy('restore', 'Restore', 'key: dedicated'),
  taintPolicy('present', 'Restore', 'key: dedicated, value: gpu, effect: NoSchedule, ensure: Always'),
  taintPolicy('audit', 'Audit', 'key: dedicated, value: gpu, effect: NoSchedule, ensure: Always'),
  `
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: cni }
spec: { mode: Mutate, existing: Patch, daemonSets: { namespaces: [kube-system] } }
`,
  `
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: watched }
spec: { mode: Audit, daemonSets: { namespaces: [default] }, tolerations: [{ operator: Exists }] }
`,
  `
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationRestriction
metadata: { name: authorized }
spec: { mode: Deny, taints: [{ key: authorized }] }
`,
].join('---');

/**
 * Sees what each of them does, in an API server that asks nobody.
 * @param mutates whether it has MutatingAdmissionPolicy; without it nothing is added, and what cannot be restored is refused
 */
export async function seeProtection(cp: ControlPlane, { mutates = true } = {}): Promise<void> {
  for (const pool of ['deny', 'restore', 'audit']) {
    const body = { metadata: { name: pool, labels: { pool } }, spec: { taints: [GPU] } };
    expect((await cp.request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
  }
  // Without a controller manager there is none.
  await cp.kubectl(['create', 'serviceaccount', 'default', '-n', 'default']);
  await untilInForce(cp, mutates);

  const denied = await removal(cp, 'deny');
  expect(denied.passed).toBe(false);
  expect(denied.error).toContain('TaintPolicy "deny"');
  expect(await taintsOf(cp, 'deny')).toEqual(['dedicated=gpu:NoSchedule']);

  expect(await removal(cp, 'restore')).toMatchObject({ passed: mutates });
  expect(await taintsOf(cp, 'restore')).toEqual(['dedicated=gpu:NoSchedule']);

  expect((await taintsOfNew(cp, 'present')).some(({ key }) => key === GPU.key)).toBe(mutates);

  const audited = await removal(cp, 'audit');
  expect(audited.passed, audited.error).toBe(true);
  expect(audited.warnings).toEqual([expect.stringContaining('TaintPolicy audit, Audit: ')]);

  expect(await createPod(cp, 'another')).toEqual({ passed: true, error: '', warnings: [] });
  expect((await createPod(cp, 'authorized')).error).toContain(
    'TolerationRestriction authorized (spec.taints[0]): the pod tolerates authorized, but service account default/default may not',
  );

  expect(await warningsOfWatched(cp)).toEqual([
    expect.stringContaining('TolerationPolicy watched, Audit: missing tolerations: *'),
  ]);
}

/** Each kind of policy is in force from some moment on, which one request or another shows. */
async function untilInForce(cp: ControlPlane, mutates: boolean): Promise<void> {
  const mutations = {
    'the DaemonSet gets its toleration': async () => {
      const { body } = await cp.request<DaemonSet>(developer, 'POST', `${daemonSetPath('kube-system')}?dryRun=All`, {
        body: flannelManifest('kube-system', 'flannel'),
      });
      return body.spec.template.spec.tolerations?.at(-1)?.key === MASTER.key;
    },
    'the new node gets its taint': async () => (await taintsOfNew(cp, 'present')).some(({ key }) => key === GPU.key),
  };
  const shown = {
    ...(mutates ? mutations : {}),
    'the update is refused': async () => !(await removal(cp, 'deny', '?dryRun=All')).passed,
    'the new node is reported': async () => (await removal(cp, 'audit', '?dryRun=All')).warnings.length > 0,
    'the pod is refused': async () => !(await createPod(cp, 'authorized')).passed,
    'the DaemonSet that is watched is reported': async () => (await warningsOfWatched(cp)).length > 0,
  };
  for (const [what, holds] of Object.entries(shown)) {
    await waitUntil(async () => (await holds()) || undefined, {
      timeoutMs: EFFECT_TIMEOUT_MS,
      otherwise: () => `not yet: ${what}`,
    });
  }
}

function removal(cp: ControlPlane, node: string, query = ''): Promise<Attempt> {
  return attempt(cp, developer, 'PATCH', `${path(node)}${query}`, { spec: { taints: null } }, MERGE_PATCH);
}

/** As a controller does, which may create pods, and may tolerate nothing. */
function createPod(cp: ControlPlane, key: string): Promise<Attempt> {
  const spec = { containers: [{ name: 'c', image: 'example.com/c' }], tolerations: [{ key, operator: 'Exists' }] };
  const url = '/api/v1/namespaces/default/pods?dryRun=All';
  return attempt(cp, serviceAccount('kube-system', 'job-controller'), 'POST', url, { metadata: { name: 'p' }, spec });
}

async function warningsOfWatched(cp: ControlPlane): Promise<string[]> {
  const body = flannelManifest('default', 'flannel');
  return (await cp.request(developer, 'POST', `${daemonSetPath('default')}?dryRun=All`, { body })).warnings;
}

async function taintsOfNew(cp: ControlPlane, pool: string): Promise<Taint[]> {
  const { body } = await cp.request<Node>(developer, 'POST', '/api/v1/nodes?dryRun=All', {
    body: { metadata: { name: `new-${pool}`, labels: { pool } } },
  });
  return body.spec.taints ?? [];
}
