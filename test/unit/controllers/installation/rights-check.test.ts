import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { startRightsCheck } from '../../../../src/controllers/installation/rights-check.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policyObject } from '../../doctor/facts.ts';
import { startInTest } from '../run.ts';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

const daemonSets = { namespaces: ['kube-system'] };
const PATCHING = policyObject('TolerationPolicy', 'cni', { mode: 'Mutate', daemonSets, existing: 'Patch' });
const RECOVERING = policyObject('RecoveryPolicy', 'reboots', { daemonSets });
const BACKED = policyObject('TaintPolicy', 'gpu', {
  mode: 'Deny',
  taints: [{ key: 'a' }],
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
  const reports = createReports();
  const options = { client, policies: { objects: () => objects, changes: createSubject() }, audit, reports };
  const rights = startInTest(log, (run) => startRightsCheck(run, options));
  rights.changes.subscribe(() => {
    changes++;
  });
  return {
    permits: rights.permits,
    problems: reports.problems,
    deny(next: typeof denied) {
      denied = next;
    },
    asked,
    changes: () => changes,
    logged: () => lines().map(({ msg }) => msg),
  };
}

const ALL_DENIED = ['patch daemonsets', 'list pods', 'delete pods', 'create validatingadmissionpolicies'];

/** Lets the present run end. */
const settle = () => vi.advanceTimersByTimeAsync(10);

it('checks what a policy or a controller asks for, and nothing besides', async () => {
  const { permits, asked } = start([PATCHING]);
  await settle();
  expect(asked).toEqual(['patch daemonsets']);
  expect(permits('listPods')).toBeUndefined();
  await settle();
  expect(asked).toEqual(['patch daemonsets', 'list pods', 'watch pods', 'patch daemonsets']);
  expect(permits('listPods')).toBe(true);
  await settle();
  expect(asked).toHaveLength(4);
});

it('names each policy that needs a missing right, and how to permit it', async () => {
  const { deny, problems, permits } = start([PATCHING, RECOVERING, BACKED]);
  expect(permits('patchDaemonSets')).toBeUndefined();
  deny(ALL_DENIED);
  await settle();
  // For native policies, the condition Backstop reports it.
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

it('logs it once, and checks again soon until it is permitted', async () => {
  const { deny, asked, problems, changes, logged } = start([PATCHING, BACKED]);
  const runs = () => asked.filter((right) => right === 'patch daemonsets').length;
  deny(ALL_DENIED);
  await vi.advanceTimersByTimeAsync(10_100);
  expect(runs()).toBe(2);
  expect([changes(), logged().length]).toEqual([1, 2]);
  deny([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([changes(), problems()]).toEqual([2, []]);
  expect(runs()).toBe(3);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(runs()).toBe(3);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs()).toBe(4);
});

it.each([
  { what: 'where no policy asks for it', objects: [], audit: false },
  { what: 'with --audit', objects: [PATCHING], audit: true },
])('reports nothing $what', async ({ objects, audit }) => {
  const { asked, deny, problems, logged } = start(objects, { audit });
  deny(ALL_DENIED);
  await settle();
  expect([asked, problems(), logged()]).toEqual([[], [], []]);
});

it('a right counts as granted if the API server does not permit the check', async () => {
  const { deny, permits, problems } = start([PATCHING]);
  deny(new ApiError('POST', '/', 403, 'Forbidden', 'no reviews'));
  await settle();
  expect([permits('patchDaemonSets'), problems()]).toEqual([true, []]);
});

it('nothing is known while the API server does not answer', async () => {
  const { deny, permits, logged } = start([PATCHING]);
  deny(new Error('connection refused'));
  await settle();
  expect(logged()).toEqual(['permissions: connection refused']);
  expect(permits('patchDaemonSets')).toBeUndefined();
});
