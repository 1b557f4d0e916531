import { expect, it } from 'vitest';
import { comparedKinds } from '../../../../src/controllers/status/compared-kinds.ts';
import type { PolicyKind } from '../../../../src/policy/policy.ts';
import { partsOf, type ReadyWhen } from '../../../../src/policy/ready-when.ts';

it.each<{ why: string; kind: PolicyKind; readyWhen?: ReadyWhen; kinds: readonly string[] }>([
  { why: 'its nodes are compared', kind: 'TaintPolicy', kinds: ['nodes'] },
  {
    why: 'its startup taints wait for it',
    kind: 'TaintPolicy',
    readyWhen: { daemonSets: [{ namespace: 'a', name: 'b' }] },
    kinds: ['nodes', 'daemonSets'],
  },
  {
    why: 'its startup taints wait for the status of the node',
    kind: 'TaintPolicy',
    readyWhen: { conditions: [{ type: 'A' }], allocatable: [{ resource: 'a.com/b' }] },
    kinds: ['nodes'],
  },
  { why: 'DaemonSets are patched by where they run', kind: 'TolerationPolicy', kinds: ['nodes', 'daemonSets'] },
  { why: 'a pod is freed on a node where it could run', kind: 'RecoveryPolicy', kinds: ['nodes', 'daemonSets'] },
  { why: 'it is not compared with the cluster at all', kind: 'TolerationRestriction', kinds: [] },
])('the status of a $kind waits for $kinds: $why', ({ kind, readyWhen, kinds }) => {
  const untilReady = readyWhen ? [{ parts: partsOf(readyWhen) }] : [];
  expect(comparedKinds(kind, { untilReady } as never)).toEqual(kinds);
});
