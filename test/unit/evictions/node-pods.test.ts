import { expect, it } from 'vitest';
import { evictedBy, type NodePod } from '../../../src/evictions/node-pods.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { podOf } from './pods.ts';

const TAINTS = [
  { key: 'a', effect: 'NoExecute' },
  { key: 'b', value: 'x', effect: 'NoExecute' },
];
const a = (seconds?: number): Toleration => ({ key: 'a', operator: 'Exists', tolerationSeconds: seconds });
const b = (seconds?: number): Toleration => ({ key: 'b', value: 'x', tolerationSeconds: seconds });

it.each<{
  what: string;
  tolerations: readonly Toleration[];
  part?: Partial<NodePod>;
  evicted: 'atOnce' | 'later' | 'no';
}>([
  { what: 'tolerates none of the taints', tolerations: [], evicted: 'atOnce' },
  { what: 'tolerates one of them', tolerations: [a()], evicted: 'atOnce' },
  { what: 'tolerates one for good, the other one for a while', tolerations: [a(), b(300)], evicted: 'later' },
  { what: 'tolerates them for no time', tolerations: [a(300), b(0)], evicted: 'atOnce' },
  { what: 'tolerates them for less than no time', tolerations: [a(-1), b()], evicted: 'atOnce' },
  { what: 'tolerates both', tolerations: [a(), b()], evicted: 'no' },
  { what: 'tolerates everything', tolerations: [{ operator: 'Exists' }], evicted: 'no' },
  { what: 'tolerates another effect', tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }], evicted: 'atOnce' },
  { what: 'tolerates with the first toleration that matches', tolerations: [a(), a(10), b()], evicted: 'no' },
  { what: 'is of a DaemonSet', tolerations: [], part: { controller: 'DaemonSet' }, evicted: 'atOnce' },
  { what: 'has ended', tolerations: [], part: { isFinished: true }, evicted: 'no' },
  { what: 'is about to end', tolerations: [], part: { isTerminating: true }, evicted: 'no' },
])('a pod that $what: $evicted', ({ tolerations, part, evicted }) => {
  const { atOnce, later } = evictedBy(TAINTS, [podOf('p', 0, { tolerations, ...part })]);
  expect({ atOnce, later }).toEqual({
    atOnce: evicted === 'atOnce' ? 1 : 0,
    later: evicted === 'later' ? 1 : 0,
  });
});
