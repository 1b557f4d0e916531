import { expect, it } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../../../src/cluster/policy-object.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { policyStatus } from '../../../../src/controllers/status/policy-status.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { policySet } from '../../policy/policies.ts';

it('a status that the API server refuses keeps back none of the others, and is a failure all the same', async () => {
  const spec: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
  const names = ['a', 'b', 'c'];
  const written: string[] = [];
  const counted: number[] = [];
  const client = {
    async request(method: string, path: string) {
      if (path.endsWith('/a/status')) throw new ApiError(method, path, 403, 'Forbidden', 'denied by a webhook');
      written.push(path);
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
    violating: (findings) => counted.push(findings.length),
    awaitingEviction: () => {},
    stalled: () => {},
  });
  await expect(run()).rejects.toThrow('denied by a webhook');
  expect(written.map((path) => path.split('/').at(-2))).toEqual(['b', 'c']);
  expect(counted).toEqual([3]);
});
