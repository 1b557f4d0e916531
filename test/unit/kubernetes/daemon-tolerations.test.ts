import { expect, it } from 'vitest';
import {
  alwaysTolerated,
  daemonTolerations,
  givenEffects,
  outlastsItsSeconds,
} from '../../../src/kubernetes/daemon-tolerations.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';

it.each([
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute', where: 'in every pod' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule', where: 'nowhere' },
  { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule', where: 'with the host network' },
  { key: 'dedicated', effect: 'NoSchedule', where: 'nowhere' },
] as const)('$key:$effect is tolerated $where, whatever the template says', ({ key, effect, where }) => {
  expect(alwaysTolerated({ key, value: undefined, effect })).toBe(where);
});

it.each([
  { hostNetwork: false, added: 6 },
  { hostNetwork: true, added: 7 },
])('the DaemonSet controller adds $added tolerations, host network: $hostNetwork', ({ hostNetwork, added }) => {
  const own: Toleration = { key: 'dedicated', operator: 'Exists' };
  const tolerations = daemonTolerations([own], hostNetwork);
  expect(tolerations[0]).toBe(own);
  expect(tolerations.slice(1).map(({ key, operator }) => [key?.split('/')[0], operator])).toEqual(
    Array.from({ length: added }, () => ['node.kubernetes.io', 'Exists']),
  );
});

// By AddOrUpdateDaemonPodTolerations of k8s.io/kubernetes/pkg/controller/daemon/util.
it.each([
  { key: 'node.kubernetes.io/not-ready', effects: ['NoExecute'] },
  { key: 'node.kubernetes.io/unreachable', effects: ['NoExecute'] },
  { key: 'node.kubernetes.io/disk-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/memory-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/pid-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/unschedulable', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/network-unavailable', effects: ['NoSchedule'] },
  { key: 'dedicated', effects: [] },
])('Kubernetes itself gives tolerations of $key with $effects', ({ key, effects }) => {
  expect(givenEffects(key)).toEqual(effects);
});

it.each<{ toleration: Toleration; yes: boolean }>([
  { toleration: { key: 'node.kubernetes.io/not-ready', operator: 'Exists' }, yes: true },
  { toleration: { key: 'node.kubernetes.io/unreachable', operator: 'Exists' }, yes: true },
  { toleration: { key: 'node.kubernetes.io/not-ready', operator: 'Equal' }, yes: false },
  { toleration: { key: 'node.kubernetes.io/not-ready' }, yes: false },
  { toleration: { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists' }, yes: false },
  { toleration: { operator: 'Exists' }, yes: false },
])('the seconds of $toleration do not count: $yes', ({ toleration, yes }) => {
  expect(outlastsItsSeconds(toleration)).toBe(yes);
});
