import { describe, expect, it } from 'vitest';
import type { NodeStatus } from '../../../../src/judge/node-view.ts';
import type { KnownDaemonSets } from '../../../../src/judge/startup/daemon-sets.ts';
import { type StartupSources, startupBlockers } from '../../../../src/judge/startup/startup-readiness.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { partsOf, type ReadyWhen } from '../../../../src/policy/ready-when.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const TAINT: Taint = { key: 'example.com/network', effect: 'NoSchedule' };
const CILIUM = { namespace: 'kube-system', name: 'cilium' };

const NO_DAEMON_SETS: KnownDaemonSets = { get: () => undefined, all: () => [], unreadable: () => [] };

const agent = (more: object = {}) => ({
  uid: 'agent-uid',
  value: {
    ...{ ...CILIUM, nodeName: '', nodeSelector: {}, nodeAffinity: undefined, hostNetwork: false, deleting: false },
    tolerations: [{ operator: 'Exists' }],
    ...more,
  },
});
const EXISTING: KnownDaemonSets = { ...NO_DAEMON_SETS, get: () => agent() };

/** Of a part that does not ask for them. */
const NOT_ASKED = () => {
  throw new Error('read for no reason');
};

interface Situation extends Partial<StartupSources> {
  readonly taints?: readonly Taint[];
  readonly status?: NodeStatus;
}

function blockers(readyWhen: ReadyWhen, { taints = [TAINT], status = {}, ...sources }: Situation = {}) {
  const node = { name: 'n', labels: {}, taints, allowRemoval: undefined, createdAt: CREATED, ...status };
  const all = { daemonSets: NOT_ASKED, pods: NOT_ASKED, csiNode: NOT_ASKED, ...sources };
  return startupBlockers(partsOf(readyWhen), node, all, { untilReady: [TAINT], atRegistration: [] });
}

describe('the parts of readyWhen on a node', () => {
  it('do not count before Karpenter has registered the node, because it adds startup taints again until then', () => {
    const taints = [TAINT, { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }];
    expect(blockers({ daemonSets: [CILIUM] }, { taints })).toEqual([
      { text: 'Karpenter: it has not registered the node', state: 'Unmet' },
    ]);
  });

  it.each<{ why: string; sources: Partial<StartupSources>; text: string; state: string }>([
    {
      why: 'DaemonSets have not been listed',
      sources: { daemonSets: () => 'Unread' },
      text: 'DaemonSets: the DaemonSets have not been read yet',
      state: 'Unread',
    },
    {
      why: 'pods have not been listed',
      sources: { daemonSets: () => ({ value: EXISTING }), pods: () => 'Unread' },
      text: 'DaemonSets: the pods have not been read yet',
      state: 'Unread',
    },
    {
      why: 'pods may not be listed',
      sources: { daemonSets: () => ({ value: EXISTING }), pods: () => 'NotPermitted' },
      text: 'DaemonSets: taintkeeper has no permission to read the pods',
      state: 'NotPermitted',
    },
    {
      why: 'the leader cannot read the DaemonSet',
      sources: { daemonSets: () => ({ value: { ...NO_DAEMON_SETS, unreadable: () => [CILIUM] } }) },
      text: 'DaemonSet kube-system/cilium: the leader cannot read it; the log of the leader says why',
      state: 'Unreadable',
    },
  ])('keep the taint where $why', ({ sources, text, state }) => {
    expect(blockers({ daemonSets: [CILIUM] }, sources)).toEqual([{ text, state }]);
  });

  it('are known in part where pods cannot be read', () => {
    const absent = { ...CILIUM, name: 'absent' };
    const broken = { ...CILIUM, name: 'broken' };
    const daemonSets: KnownDaemonSets = {
      get: ({ name }) => (name === 'absent' ? undefined : agent()),
      all: () => [],
      unreadable: () => [broken],
    };
    const taints = [TAINT, { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
    const readyWhen: ReadyWhen = { daemonSets: [CILIUM, absent, broken], allDaemonSets: {} };
    const sources = { daemonSets: () => ({ value: daemonSets }), pods: () => 'NotPermitted' as const };
    expect(blockers(readyWhen, { taints, ...sources })).toEqual([
      {
        text: 'all DaemonSets: the cloud provider has not initialized the node, so labels are missing',
        state: 'Unmet',
      },
      {
        text: 'DaemonSet kube-system/broken: the leader cannot read it; the log of the leader says why',
        state: 'Unreadable',
      },
      { text: 'DaemonSets: taintkeeper has no permission to read the pods', state: 'NotPermitted' },
      { text: 'DaemonSet kube-system/absent: it does not exist', state: 'Unmet' },
    ]);
  });

  it('must all hold, and each says for itself why it does not', () => {
    const readyWhen: ReadyWhen = {
      daemonSets: [CILIUM],
      conditions: [{ type: 'NetworkReady' }],
      csiDrivers: [{ name: 'a.example' }, { name: 'b.example' }],
      allocatable: [{ resource: 'example.com/a' }],
    };
    const sources = {
      daemonSets: () => ({ value: NO_DAEMON_SETS }),
      csiNode: () => 'Unread' as const,
    };
    expect(blockers(readyWhen, sources).map(({ text }) => text)).toEqual([
      'DaemonSet kube-system/cilium: it does not exist',
      'condition NetworkReady=True: the node does not have it',
      'CSI driver a.example, b.example: the CSINodes have not been read yet',
      'resource example.com/a: the node has none that is allocatable',
    ]);
  });

  it.each<{ why: string; get: KnownDaemonSets['get'] }>([
    { why: 'it does not exist', get: () => undefined },
    { why: 'it is being deleted', get: () => agent({ deleting: true }) },
    {
      why: 'it does not select the node: its label pool is not gpu',
      get: () => agent({ nodeSelector: { pool: 'gpu' } }),
    },
  ])('read no pods of a DaemonSet that can have none on the node: $why', ({ why, get }) => {
    const named = { daemonSets: () => ({ value: { ...NO_DAEMON_SETS, get } }) };
    expect(blockers({ daemonSets: [CILIUM] }, named)).toMatchObject([
      { text: expect.stringContaining(`kube-system/cilium: ${why.split(':')[0]}`), state: 'Unmet' },
    ]);
  });

  it('read the pods only of those DaemonSets that can have one on the node', () => {
    const other = { namespace: 'kube-system', name: 'absent' };
    const asked: unknown[] = [];
    const get: KnownDaemonSets['get'] = ({ name }) => (name === 'absent' ? undefined : agent());
    const sources: Partial<StartupSources> = {
      daemonSets: () => ({ value: { ...NO_DAEMON_SETS, get } }),
      pods(awaited) {
        asked.push(...awaited);
        return { value: [] };
      },
    };
    expect(blockers({ daemonSets: [other, CILIUM] }, sources).map(({ text }) => text)).toEqual([
      'DaemonSet kube-system/absent: it does not exist',
      'DaemonSet kube-system/cilium: it has no pod on the node',
    ]);
    expect(asked).toEqual([CILIUM]);
  });

  it('read no pods where all DaemonSets of the node are none', () => {
    expect(blockers({ allDaemonSets: {} }, { daemonSets: () => ({ value: NO_DAEMON_SETS }) })).toEqual([]);
  });

  it('name DaemonSets that may be ready before the cloud provider has initialized the node', () => {
    const taints = [TAINT, { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
    const sources = { daemonSets: () => ({ value: NO_DAEMON_SETS }) };
    expect(blockers({ daemonSets: [CILIUM] }, { taints, ...sources }).map(({ text }) => text)).toEqual([
      'DaemonSet kube-system/cilium: it does not exist',
    ]);
  });

  it('hold without DaemonSets, of which nothing is read then', () => {
    const status = { conditions: { NetworkReady: 'True' }, resources: ['example.com/a'] };
    const readyWhen: ReadyWhen = {
      conditions: [{ type: 'NetworkReady' }],
      allocatable: [{ resource: 'example.com/a' }],
    };
    expect(blockers(readyWhen, { status })).toEqual([]);
  });
});
