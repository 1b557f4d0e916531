import { expect, it } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { permissions } from '../../../../src/controllers/installation/permissions.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policyObject } from '../../doctor/facts.ts';

const daemonSets = { namespaces: ['kube-system'] };
const PATCHING = policyObject('TolerationPolicy', 'cni', { mode: 'Mutate', daemonSets, existing: 'Patch' });
const RECOVERING = policyObject('RecoveryPolicy', 'reboots', { daemonSets });
const BACKED = policyObject('TaintPolicy', 'gpu', {
  mode: 'Deny',
  taints: [{ key: 'a', restrict: ['Removal'] }],
  backstop: 'Native',
});

/** An API server that denies these, as `VERB RESOURCE`; an error is thrown in place of an answer. */
function start(objects: ReturnType<typeof policyObject>[], { audit = false } = {}) {
  const { log, lines } = captureLog();
  let denied: readonly string[] | Error = [];
  const asked: string[] = [];
  let changes = 0;
  const client = {
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      expect(`${method} ${path}`).toBe('POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
      if (denied instanceof Error) throw denied;
      const { verb, resource } = (body as { spec: { resourceAttributes: { verb: string; resource: string } } }).spec
        .resourceAttributes;
      asked.push(`${verb} ${resource}`);
      return { status: { allowed: !denied.includes(`${verb} ${resource}`) } };
    },
  } as unknown as ApiClient;
  const rights = permissions({ client, policies: { objects: () => objects, changes: createSubject() }, audit }, log);
  let news = 0;
  rights.asked.subscribe(() => {
    news++;
  });
  rights.changes.subscribe(() => {
    changes++;
  });
  return {
    ...rights,
    deny(next: typeof denied) {
      denied = next;
    },
    asked,
    news: () => news,
    changes: () => changes,
    logged: () => lines().map(({ msg }) => msg),
  };
}

const ALL_DENIED = ['patch daemonsets', 'list pods', 'delete pods', 'create validatingadmissionpolicies'];

it('checks what a policy or a controller asks for, and nothing besides', async () => {
  const { reconcile, permits, asked, news } = start([PATCHING]);
  await reconcile();
  expect(asked).toEqual(['patch daemonsets']);
  expect(permits('listPods')).toBeUndefined();
  expect(news()).toBe(1);
  await reconcile();
  expect(asked).toEqual(['patch daemonsets', 'list pods', 'watch pods', 'patch daemonsets']);
  expect(permits('listPods')).toBe(true);
  expect(news()).toBe(1);
});

it('says of each policy what it asks for and nobody has permitted, and how to permit it', async () => {
  const { reconcile, deny, problems, permits } = start([PATCHING, RECOVERING, BACKED]);
  expect(permits('patchDaemonSets')).toBeUndefined();
  deny(ALL_DENIED);
  expect(await reconcile()).toBe(10_000);
  // Of native policies, the condition Backstop says it.
  expect(problems()).toEqual([
    {
      kind: 'TolerationPolicy',
      policy: 'cni',
      reason: 'NotPermitted',
      message:
        'existing: Patch needs permission to patch DaemonSets, which taintkeeper does not have: ' +
        "set patchDaemonSets: true in the chart's values, or run the commands that taintkeeper doctor prints",
    },
    {
      kind: 'RecoveryPolicy',
      policy: 'reboots',
      reason: 'NotPermitted',
      message: expect.stringContaining(
        'permission to list and watch pods, which taintkeeper does not have: set recoverPods: true',
      ),
    },
    {
      kind: 'RecoveryPolicy',
      policy: 'reboots',
      reason: 'NotPermitted',
      message: expect.stringContaining(
        'permission to delete pods, which taintkeeper does not have: set recoverPods: true',
      ),
    },
  ]);
  expect((['nativePolicies', 'patchDaemonSets', 'watchPods', 'deletePods'] as const).map(permits)).toEqual(
    Array(4).fill(false),
  );
});

it('says it once in the log, and looks again until it is permitted', async () => {
  const { reconcile, deny, problems, changes, logged } = start([PATCHING, BACKED]);
  deny(ALL_DENIED);
  await reconcile();
  await reconcile();
  expect([changes(), logged().length]).toEqual([1, 2]);
  deny([]);
  expect(await reconcile()).toBe(60_000);
  expect([changes(), problems()]).toEqual([2, []]);
});

it.each([
  { what: 'where no policy asks for it', objects: [], audit: false },
  { what: 'with --audit', objects: [PATCHING], audit: true },
])('says nothing $what', async ({ objects, audit }) => {
  const { reconcile, deny, problems, logged } = start(objects, { audit });
  deny(ALL_DENIED);
  expect(await reconcile()).toBe(60_000);
  expect([problems(), logged()]).toEqual([[], []]);
});

it('lets it be tried where the API server does not say', async () => {
  const { reconcile, deny, permits, problems } = start([PATCHING]);
  deny(new ApiError('POST', '/', 403, 'Forbidden', 'no reviews'));
  await reconcile();
  expect([permits('patchDaemonSets'), problems()]).toEqual([true, []]);
});

it('knows nothing while the API server does not answer', async () => {
  const { reconcile, deny, permits } = start([PATCHING]);
  deny(new Error('connection refused'));
  await expect(reconcile()).rejects.toThrow('connection refused');
  expect(permits('patchDaemonSets')).toBeUndefined();
});
