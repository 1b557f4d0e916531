import { expect, it } from 'vitest';
import { findGaps } from '../../../src/coverage/gaps.ts';
import { groupNodes } from '../../../src/coverage/node-groups.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { SchedulingView } from '../../../src/scheduling/coverage.ts';
import { CONTROL_PLANE, daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

/** `daemonSet: taints: nodes` of each gap, with `transient` after transient taints. */
function gapsOf(daemonSets: SchedulingView[], nodes: ReturnType<typeof node>[]): string[] {
  return findGaps(daemonSets, groupNodes(daemonSets, nodes)).map(
    ({ daemonSet, taints, nodes, isTransient }) =>
      `${daemonSet.name}: ${taints.map(formatTaint)}${isTransient ? ' transient' : ''}: ${nodes.map(({ name }) => name)}`,
  );
}

const PLANE = 'node-role.kubernetes.io/control-plane:NoSchedule';
const OLD = 'node-role.kubernetes.io/master:NoSchedule';

it.each<{ why: string; given?: Partial<SchedulingView>; taints: Taint[][]; gaps: string[] }>([
  { why: 'no taint, no gap', taints: [[], []], gaps: [] },
  { why: 'the same taint on two nodes is one gap', taints: [[MASTER], [], [MASTER]], gaps: [`a: ${OLD}: n0,n2`] },
  {
    why: 'the order of the taints does not count',
    taints: [
      [MASTER, CONTROL_PLANE],
      [CONTROL_PLANE, MASTER],
    ],
    gaps: [`a: ${OLD},${PLANE}: n0,n1`],
  },
  {
    why: 'other taints are another gap',
    taints: [[MASTER], [CONTROL_PLANE]],
    gaps: [`a: ${OLD}: n0`, `a: ${PLANE}: n1`],
  },
  {
    why: 'where it does not select the node, taints do not matter',
    given: { nodeSelector: { a: 'b' } },
    taints: [[GPU]],
    gaps: [],
  },
  {
    why: 'the gap of a taint that Kubernetes sets and removes is transient',
    taints: [[NOT_READY]],
    gaps: ['a: node.kubernetes.io/not-ready:NoSchedule transient: n0'],
  },
  {
    why: 'next to one that stays, it is not what is in the way',
    taints: [[NOT_READY, MASTER], [MASTER]],
    gaps: [`a: ${OLD}: n0,n1`],
  },
  {
    why: 'tolerated taints are not in the way',
    given: { tolerations: [{ key: MASTER.key, operator: 'Exists' }] },
    taints: [[MASTER, GPU]],
    gaps: ['a: dedicated=gpu:NoSchedule: n0'],
  },
])('$why', ({ given = {}, taints, gaps }) => {
  const nodes = taints.map((each, index) => node(`n${index}`, each));
  expect(gapsOf([daemonSet('a', given)], nodes)).toEqual(gaps);
});
