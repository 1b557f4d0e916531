import { equal } from 'node:assert/strict';
import fc from 'fast-check';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { type FuzzTarget, target } from './target.ts';

const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: kept }
spec: { mode: Restore, taints: [{ key: dedicated }, { key: 'example.com/*' }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: selected }
spec: { mode: Deny, nodeSelector: { matchLabels: { kubernetes.io/os: linux } }, taints: [{ key: 'example.org/*' }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: tolerated }
spec: { mode: Mutate, daemonSets: { namespaces: ['*'] } }
`;
const policies = compilePolicies(parsePolicies([{ name: 'fuzz', text: POLICIES }]));

const taint = (key: string) => ({ key, effect: 'NoSchedule' });
const others = fc
  .record({ count: fc.nat({ max: 400 }), from: fc.nat({ max: 400 }) })
  .map(({ count, from }) => Array.from({ length: count }, (_, n) => taint(`example.com/${from + n}`)));

/** Reviews of more taints than are judged one by one. */
export const LARGE_BODIES: readonly FuzzTarget[] = [
  target(
    'a protected taint that is removed among any number of others',
    1,
    fc.record({ before: others, after: others, place: fc.nat() }),
    ({ before, after, place }) => {
      const carried = before.toSpliced(place % (before.length + 1), 0, taint('dedicated'));
      const request = {
        ...{ uid: 'u', operation: 'UPDATE', name: 'n', userInfo: {} },
        resource: { group: '', version: 'v1', resource: 'nodes' },
        oldObject: { metadata: {}, spec: { taints: carried } },
        object: { metadata: {}, spec: { taints: after } },
      };
      equal(judgeRequest(request, 'validate', policies).decision.action, 'deny');
    },
  ),
];
