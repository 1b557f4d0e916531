import { describe, expect, it } from 'vitest';
import { criticalWithoutPriority, pendingOnFullNodes } from '../../../../src/coverage/findings/priority.ts';
import type { InstalledDaemonSet } from '../../../../src/coverage/workload.ts';
import type { PodState } from '../../../../src/scheduling/placement.ts';
import { daemonSet } from '../../scheduling/scheduling.ts';

const installed = (given: Partial<InstalledDaemonSet> = {}): InstalledDaemonSet => ({
  ...daemonSet('agent'),
  labels: {},
  annotations: {},
  controller: undefined,
  priorityClass: '',
  pluginDirectories: [],
  ...given,
});

it('names the owner, or the manager, of a daemon that is changed elsewhere', () => {
  const changes = criticalWithoutPriority([
    installed({ pluginDirectories: ['/opt/cni/bin'], controller: { kind: 'Installation', name: 'default' } }),
    installed({ pluginDirectories: ['/opt/cni/bin'], labels: { 'app.kubernetes.io/managed-by': 'argocd' } }),
  ]).map(({ change }) => change);
  expect(changes).toEqual([
    'set priorityClassName: system-node-critical in Installation default',
    expect.stringMatching(/^kubectl patch .* \(managed by argocd: change it there, too\)$/),
  ]);
});

describe('pods that are Pending on full nodes (kubernetes/kubernetes#140984)', () => {
  const pending = (why: string): PodState => ({ state: 'pending', why: `its pod is not scheduled: ${why}` });
  const changesOf = (one: InstalledDaemonSet, pods: Record<string, PodState>) =>
    pendingOnFullNodes([one], new Map([[one, new Map(Object.entries(pods))]]));

  it('are reported with the resources that their nodes lack', () => {
    const full = pending(
      "0/8 nodes are available: 1 Too many pods, 7 node(s) didn't satisfy plugin(s) [NodeAffinity]. No preemption victims found.",
    );
    const cpu = pending('0/8 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu.');
    const found = changesOf(installed(), { a: full, b: full, c: cpu, d: { state: 'scheduled' } });
    expect(found.map(({ nodes, why }) => [why, ...nodes])).toEqual([
      ['the node has too little room for pods', 'a', 'b'],
      ['the node has too little cpu, nvidia.com/gpu', 'c'],
    ]);
  });

  it.each([
    { given: {}, change: /^set a priorityClassName that is higher/ },
    { given: { pluginDirectories: ['/opt/cni/bin'] }, change: /^kubectl patch .*system-node-critical/ },
    { given: { priorityClass: 'agents' }, change: /^lower its requests, .* not below agents$/ },
  ])('get the change that makes room: $change', ({ given, change }) => {
    const [found] = changesOf(installed(given), { a: pending('1 Insufficient memory.') });
    expect(found?.change).toMatch(change);
  });

  it('are not reported if they wait for something else', () => {
    expect(changesOf(installed(), { a: pending("1 node(s) didn't match Pod's node affinity.") })).toEqual([]);
  });
});
