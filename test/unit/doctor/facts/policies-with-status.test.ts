import { expect, it } from 'vitest';
import { policiesWithStatus } from '../../../../src/doctor/facts/policies-with-status.ts';
import { answer, clientFor, startFakeApi } from '../../cluster/client/fake-api.ts';
import { READY } from '../facts.ts';

const SPEC = { mode: 'Restore', taints: [{ key: 'gpu', effect: 'NoSchedule', ensure: 'Always' }] };

it.each([
  { why: 'one that counts nothing is read once', statuses: [{ ...READY, violating: 0 }], last: { violating: 0 } },
  {
    why: 'one that counts a node may be older than its repair',
    statuses: [
      { ...READY, violating: 1, violators: ['n1'] },
      { ...READY, violating: 0 },
    ],
    last: { violating: 0 },
  },
  {
    why: 'one that still counts the node is right',
    statuses: [
      { ...READY, violating: 1, violators: ['n1'] },
      { ...READY, violating: 1, violators: ['n1'] },
    ],
    last: { violating: 1 },
  },
  {
    why: 'one that is older than the spec is read again',
    statuses: [
      { ...READY, observedGeneration: 0 },
      { ...READY, observedGeneration: 1 },
    ],
    last: { observedGeneration: 1 },
  },
])('the status of policies: $why', async ({ statuses, last }) => {
  let reads = 0;
  const api = await startFakeApi(({ path }, response) => {
    const metadata = { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' };
    const items = path.endsWith('/taintpolicies') ? [{ metadata, spec: SPEC, status: statuses[reads++] }] : [];
    answer(response, { metadata: { resourceVersion: '1' }, items });
  });
  const policies = await policiesWithStatus((await clientFor(api.url)).client, [], { pauseMs: 1 });
  expect(policies).toMatchObject([{ name: 'p', status: last }]);
  expect(reads).toBe(statuses.length);
});
