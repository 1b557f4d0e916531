import { expect, it, onTestFinished } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../../../src/cluster/policy-object.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { startPolicyStatus } from '../../../../src/controllers/status/policy-status.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policySet } from '../../policy/policies.ts';
import { runOf } from '../run.ts';

it('a status that the API server refuses delays none of the others, and is tried again by itself', async () => {
  const spec: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
  const names = ['a', 'b', 'c'];
  const tried: unknown[] = [];
  let refuses = true;
  const counted: number[] = [];
  const client = {
    async request(method: string, path: string) {
      tried.push(path.split('/').at(-2));
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
  };
  const stopping = new AbortController();
  const { log, lines } = captureLog();
  const run = runOf(stopping, log, { violating: (findings) => void counted.push(findings.length) });
  const controller = startPolicyStatus(run, options);
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  await expect.poll(() => tried.slice(0, 4)).toEqual(['a', 'b', 'c', 'a']);
  expect(lines().map(({ msg }) => msg)).toEqual([expect.stringMatching(/^policy-status: a: .*Too long/)]);
  expect(counted).toEqual([3]);
  refuses = false;
  await expect.poll(() => lines().at(-1)?.msg).toBe('policy-status: it works again');
  // Each of the others was written once.
  expect(tried.filter((name) => name !== 'a')).toEqual(['b', 'c']);
});
