import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../../src/cluster/client/api-error.ts';
import { startReplicaPods } from '../../../../../src/controllers/nodes/startup/replica-pods.ts';
import type { TaintPolicySpec } from '../../../../../src/policy/taint-policy.ts';
import { captureLog } from '../../../captured-log.ts';
import { rule } from '../../../judge/node-drifts.ts';
import { policySet } from '../../../policy/policies.ts';
import { startInTest } from '../../run.ts';
import { NO_DAEMON_SETS, startRepair } from '../repaired-nodes.ts';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

const readyWhen = { conditions: [{ type: 'example.com/NetworkReady' }] };
const STARTUP = rule('Restore', {
  ...{ key: 'example.com/network', effect: 'NoSchedule' },
  ...{ ensure: 'UntilReady', readyWhen },
});
const REQUIRED = rule('Restore', { key: 'k', effect: 'NoSchedule', ensure: 'Always' });

function start(...specs: TaintPolicySpec[]) {
  let policies = specs;
  let fault: Error | undefined;
  const names = ['a'];
  const request = vi.fn(async (_method: string, path: string) => {
    if (fault) throw fault;
    if (path.endsWith('/services/taintkeeper')) return { spec: { selector: { app: 'taintkeeper' } } };
    return {
      metadata: { resourceVersion: '1' },
      items: names.map((name) => ({ metadata: { name }, spec: { containers: [] } })),
    };
  });
  const onChange = vi.fn();
  const { log, lines } = captureLog();
  const replicas = startInTest(log, (run) =>
    startReplicaPods(run, {
      client: { request } as Pick<ApiClient, 'request'> as ApiClient,
      service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
      compiled: () =>
        policySet({ taint: Object.fromEntries(policies.map((spec, index) => [`p${index}`, spec])) }).taintPolicies,
      onChange,
    }),
  );
  return {
    names,
    request,
    onChange,
    replicas,
    found: () => replicas.current().map(({ name }) => name),
    messages: () => lines().map(({ msg }) => msg),
    setPolicies(...next: TaintPolicySpec[]) {
      policies = next;
      replicas.restart();
    },
    failWith(error: Error | undefined) {
      fault = error;
    },
  };
}

it('the replicas are read at the beginning, and each minute', async () => {
  const { names, found, onChange } = start(REQUIRED, STARTUP);
  expect(found()).toEqual([]);
  await vi.advanceTimersByTimeAsync(59_999);
  expect({ found: found(), changes: onChange.mock.calls.length }).toEqual({ found: ['a'], changes: 1 });
  names.push('b');
  await vi.advanceTimersByTimeAsync(1);
  expect({ found: found(), changes: onChange.mock.calls.length }).toEqual({ found: ['a', 'b'], changes: 2 });
});

it('no request is sent while no policy has a startup taint, and one at once when a policy gets one', async () => {
  const { request, found, setPolicies } = start(REQUIRED);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(request).not.toHaveBeenCalled();
  setPolicies(STARTUP);
  await vi.advanceTimersByTimeAsync(0);
  expect(found()).toEqual(['a']);
  request.mockClear();
  setPolicies(REQUIRED);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(request).not.toHaveBeenCalled();
});

it('replicas that can no longer be read stay as they were, and are read once that is possible', async () => {
  const { names, found, failWith, messages } = start(STARTUP);
  await vi.advanceTimersByTimeAsync(0);
  names.push('b');
  failWith(new ApiError('GET', '/api/v1/namespaces/taintkeeper/services/taintkeeper', 403, 'Forbidden', 'not allowed'));
  await vi.advanceTimersByTimeAsync(61_000);
  expect(found()).toEqual(['a']);
  expect(messages()).toEqual([expect.stringMatching(/^startup-replicas: .*not allowed/)]);
  failWith(undefined);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(found()).toEqual(['a', 'b']);
});

it('a startup taint that taintkeeper does not tolerate is reported, although DaemonSets cannot be listed', async () => {
  const { repair } = startRepair({ p: STARTUP }, [], {
    daemonSets: { ...NO_DAEMON_SETS, synced: new Promise(() => {}), isSynced: () => false },
    replicas: [
      {
        metadata: { namespace: 'kube-system', name: 'taintkeeper-0', labels: { app: 'taintkeeper' } },
        spec: { containers: [] },
      },
    ],
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(repair.problems()).toMatchObject([{ policy: 'p', reason: 'TaintkeeperDoesNotTolerate' }]);
});
