import { describe, expect, it } from 'vitest';
import type { NodeStatus } from '../../../../src/judge/node-view.ts';
import {
  type KnownDaemonSets,
  type StartupSources,
  startupBlockers,
} from '../../../../src/judge/startup/startup-readiness.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { partsOf, type ReadyWhen } from '../../../../src/policy/ready-when.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const TAINT: Taint = { key: 'example.com/network', effect: 'NoSchedule' };
const CILIUM = { namespace: 'kube-system', name: 'cilium' };

const NO_DAEMON_SETS: KnownDaemonSets = { get: () => undefined, all: () => [], unreadable: () => [] };

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
      sources: { daemonSets: () => ({ value: NO_DAEMON_SETS }), pods: () => 'Unread' },
      text: 'DaemonSets: the pods have not been read yet',
      state: 'Unread',
    },
    {
      why: 'pods may not be listed',
      sources: { daemonSets: () => ({ value: NO_DAEMON_SETS }), pods: () => 'Refused' },
      text: 'DaemonSets: taintkeeper has no permission to read the pods',
      state: 'Refused',
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

  it('must all hold, and each says for itself why it does not', () => {
    const readyWhen: ReadyWhen = {
      daemonSets: [CILIUM],
      conditions: [{ type: 'NetworkReady' }],
      csiDrivers: [{ name: 'a.example' }, { name: 'b.example' }],
      allocatable: [{ resource: 'example.com/a' }],
    };
    const sources = {
      daemonSets: () => ({ value: NO_DAEMON_SETS }),
      pods: () => ({ value: [] }),
      csiNode: () => 'Unread' as const,
    };
    expect(blockers(readyWhen, sources).map(({ text }) => text)).toEqual([
      'DaemonSet kube-system/cilium: it does not exist',
      'condition NetworkReady=True: the node does not have it',
      'CSI driver a.example, b.example: the CSINodes have not been read yet',
      'resource example.com/a: the node has none that is allocatable',
    ]);
  });

  it('read no pods where all DaemonSets of the node are none', () => {
    expect(blockers({ allDaemonSets: {} }, { daemonSets: () => ({ value: NO_DAEMON_SETS }) })).toEqual([]);
  });

  it('name DaemonSets that may be ready before the cloud provider has initialized the node', () => {
    const taints = [TAINT, { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
    const sources = { daemonSets: () => ({ value: NO_DAEMON_SETS }), pods: () => ({ value: [] }) };
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
