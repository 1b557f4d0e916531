import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../../../src/cluster/policies.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { policyStatus } from '../../../../src/controllers/status/policy-status.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policySet } from '../../policy/policies.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  return () => vi.useRealTimers();
});

it('a status that the API server refuses delays none of the others, and is a failure all the same', async () => {
  const spec: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
  const names = ['a', 'b', 'c'];
  const written: string[] = [];
  const counted: number[] = [];
  const failures: string[] = [];
  const { log, lines } = captureLog();
  let refuses = true;
  const client = {
    async request(method: string, path: string) {
      written.push(path.split('/').at(-2) ?? '');
      if (refuses && path.endsWith('/a/status')) {
        throw new ApiError(method, path, 422, 'Invalid', 'status.conditions[0].message: Too long');
      }
    },
  };
  const reports = createReports();
  reports.add({ conditions: () => [] });
  const snapshot = {
    policies: [],
    compiled: policySet({ toleration: Object.fromEntries(names.map((name) => [name, spec])) }),
    versions: new Set<string>(),
  };
  const options = {
    client: client as unknown as ApiClient,
    namespace: 'taintkeeper',
    nodes: { entries: () => [], news: createSubject() },
    daemonSets: { entries: () => [], changes: createSubject<never>() },
    synced: Promise.resolve(),
    nodeRecords: { recordOf: () => undefined, changes: createSubject<string>() },
    policies: {
      objects: () =>
        names.map((name) =>
          viewPolicy('TolerationPolicy', { metadata: { name, uid: name, generation: 1, resourceVersion: '1' }, spec }),
        ),
      snapshot: () => snapshot,
      statusChanges: createSubject(),
    },
    audit: false,
    reports,
    awaitingEviction: () => 0,
    patchedBy: () => [],
    stuckPods: () => [],
    onEvaluated: undefined,
  };
  const run = policyStatus(options, {
    metrics: {
      violating: (findings) => counted.push(findings.length),
      awaitingEviction: () => {},
      stalled: () => {},
      reconciled: (controller, result) => failures.push(`${controller} ${result}`),
    },
    log,
  });
  const writtenBy = async () => {
    written.length = 0;
    await run();
    return written;
  };
  expect(await writtenBy()).toEqual(['a', 'b', 'c']);
  expect(counted).toEqual([3]);
  expect(failures).toEqual(['policy-status error']);

  // The cache does not follow here, so the others are written in each run.
  expect(await writtenBy()).toEqual(['b', 'c']);
  vi.advanceTimersByTime(1_000);
  expect(await run()).toBeLessThanOrEqual(2_000);
  expect(failures).toHaveLength(2);
  expect(lines().map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/^policy-status: TolerationPolicy a: .*Too long/),
  ]);

  refuses = false;
  vi.advanceTimersByTime(2_000);
  expect(await writtenBy()).toEqual(['a', 'b', 'c']);
  expect(lines().at(-1)?.msg).toBe('policy-status: it works again');
});
