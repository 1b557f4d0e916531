import { describe, expect, it } from 'vitest';
import type { DaemonPodOnNode } from '../../../../src/judge/startup/daemon-readiness.ts';
import { leftOutOnNode } from '../../../../src/judge/startup/daemon-sets.ts';
import { startupBlockers } from '../../../../src/judge/startup/startup-readiness.ts';
import { type StartupStep, startupStep } from '../../../../src/judge/startup/startup-step.ts';
import { formatTaint, type Taint } from '../../../../src/kubernetes/taint.ts';
import { type AllDaemonSets, daemonSetName, partsOf, type ReadyDaemonSet } from '../../../../src/policy/ready-when.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { SchedulingNode, SchedulingView } from '../../../../src/scheduling/coverage.ts';
import { policySet } from '../../policy/policies.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const A: Taint = { key: 'example.com/a', effect: 'NoSchedule' };
const B: Taint = { key: 'example.com/b', effect: 'NoSchedule' };
const ANY = [{ operator: 'Exists' }];
const only = (...taints: Taint[]) => taints.map(({ key }) => ({ key, operator: 'Exists' }));

type DaemonSet = SchedulingView & { readonly deleting: boolean };

const daemonSet = (name: string, more: Partial<DaemonSet> = {}): DaemonSet => ({
  namespace: 'kube-system',
  name,
  nodeName: '',
  nodeSelector: {},
  nodeAffinity: undefined,
  tolerations: ANY,
  hostNetwork: false,
  deleting: false,
  ...more,
});

const pod = (of: DaemonSet, more: Partial<DaemonPodOnNode> = {}): DaemonPodOnNode => ({
  namespace: of.namespace,
  owner: daemonSetName(of),
  createdAt: CREATED,
  isReady: true,
  isTerminating: false,
  ...more,
});

const waitsForAll = (
  taint: Taint,
  allDaemonSets: AllDaemonSets = { namespaces: ['kube-system'] },
): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: taint.key, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { allDaemonSets } }],
});

interface Situation {
  readonly daemonSets: readonly DaemonSet[];
  /** Those that the leader cannot read, or only an earlier version of. */
  readonly unreadable?: readonly ReadyDaemonSet[];
  readonly pods?: readonly DaemonPodOnNode[];
  readonly node?: Partial<SchedulingNode>;
  readonly policies?: Readonly<Record<string, TaintPolicySpec>>;
}

function step(situation: Situation): StartupStep {
  const { daemonSets, unreadable = [], pods = [], node = {}, policies = { a: waitsForAll(A) } } = situation;
  const known = daemonSets.map((value) => ({ uid: daemonSetName(value), value }));
  const view = { name: 'n', labels: {}, taints: [A], allowRemoval: undefined, createdAt: CREATED, ...node };
  const sources = {
    daemonSets: () => ({
      value: {
        get: (one: Parameters<typeof daemonSetName>[0]) => known.find(({ uid }) => uid === daemonSetName(one)),
        all: () => known,
        unreadable: () => unreadable,
      },
    }),
    pods: () => ({ value: pods }),
    csiNode: () => 'Unread' as const,
  };
  return startupStep(view, policySet({ taint: policies }).taintPolicies, {
    blockers: ({ parts }, startup) => startupBlockers(parts, view, sources, startup),
    tracked: [],
    unusedRecord: undefined,
    unstored: [],
    isComplete: true,
    now: 0,
    apiTime: CREATED,
  });
}

/** What the taints of the node wait for. Empty if they are removed. */
const waitsFor = (situation: Situation) =>
  step(situation).waiting.flatMap(({ blockers }) => blockers.map(({ text }) => text));
const removed = (situation: Situation) => step(situation).removable.map(({ taint }) => formatTaint(taint));

/** The DaemonSets that the taint A does not wait for, with the reason. */
function leftOut(daemonSets: readonly DaemonSet[], labels: SchedulingNode['labels'] = {}) {
  const taints = [A, { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' }];
  const known = daemonSets.map((value) => ({ uid: daemonSetName(value), value }));
  const node = { name: 'n', labels, taints, allowRemoval: undefined };
  const startup = { untilReady: [A, B], atRegistration: [] };
  const daemonSetsOfCluster = { get: () => undefined, all: () => known, unreadable: () => [] };
  return leftOutOnNode(partsOf({ allDaemonSets: {} }), node, daemonSetsOfCluster, startup);
}

const cni = daemonSet('cni');
const proxy = daemonSet('proxy');

describe('all DaemonSets of a node', () => {
  it.each<{ why: string; situation: Situation; waits: readonly string[] }>([
    { why: 'each has a Ready pod', situation: { daemonSets: [cni, proxy], pods: [pod(cni), pod(proxy)] }, waits: [] },
    {
      why: 'one was created while the node waits',
      situation: { daemonSets: [cni, proxy], pods: [pod(cni)] },
      waits: ['DaemonSet kube-system/proxy: it has no pod on the node'],
    },
    {
      why: 'one is broken',
      situation: { daemonSets: [cni, proxy], pods: [pod(cni), pod(proxy, { isReady: false })] },
      waits: ['DaemonSet kube-system/proxy: its pod is not Ready'],
    },
    {
      why: 'an init container waits until the taint is removed',
      situation: { daemonSets: [cni], pods: [pod(cni, { isReady: false })] },
      waits: ['DaemonSet kube-system/cni: its pod is not Ready'],
    },
    {
      why: 'a surge pod is not Ready beside the old one, of another revision (OnDelete has such a pod for as long as it likes)',
      situation: { daemonSets: [cni], pods: [pod(cni), pod(cni, { isReady: false })] },
      waits: [],
    },
    { why: 'there is none', situation: { daemonSets: [] }, waits: [] },
    {
      why: 'none selects the node',
      situation: { daemonSets: [daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })] },
      waits: [],
    },
    {
      why: 'a label has arrived by which one selects it',
      situation: {
        daemonSets: [daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })],
        node: { labels: { pool: 'gpu' } },
      },
      waits: ['DaemonSet kube-system/gpu: it has no pod on the node'],
    },
    {
      why: 'the label has left again',
      situation: {
        daemonSets: [daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })],
        node: { labels: { pool: 'cpu' } },
      },
      waits: [],
    },
    {
      why: 'its node affinity does not select the node',
      situation: {
        daemonSets: [
          daemonSet('linux', {
            nodeAffinity: [{ matchExpressions: [{ key: 'os', operator: 'In', values: ['linux'] }], matchFields: [] }],
          }),
        ],
      },
      waits: [],
    },
    {
      why: 'one does not tolerate a taint that the node keeps',
      situation: {
        daemonSets: [daemonSet('app', { tolerations: only(A) })],
        node: { taints: [A, { key: 'dedicated', effect: 'NoSchedule' }] },
      },
      waits: [],
    },
    {
      why: 'one does not tolerate a taint that passes: an agent removes it, and then the pod starts',
      situation: {
        daemonSets: [daemonSet('app', { tolerations: only(A) })],
        node: { taints: [A, { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' }] },
      },
      waits: [
        'DaemonSet kube-system/app: it has no pod on the node: taint node.cilium.io/agent-not-ready:NoSchedule is not tolerated',
      ],
    },
    {
      why: 'one does not tolerate a taint of ensure: AtRegistration, which another client removes',
      situation: {
        daemonSets: [daemonSet('app', { tolerations: only(A) })],
        node: { taints: [A, B] },
        policies: {
          a: waitsForAll(A),
          b: { mode: 'Restore', taints: [{ key: B.key, effect: 'NoSchedule', ensure: 'AtRegistration' }] },
        },
      },
      waits: ['DaemonSet kube-system/app: it has no pod on the node: taint example.com/b:NoSchedule is not tolerated'],
    },
    {
      why: 'one does not tolerate the taint that waits',
      situation: { daemonSets: [daemonSet('app', { tolerations: [] }), cni], pods: [pod(cni)] },
      waits: [],
    },
    {
      why: 'one is being deleted',
      situation: { daemonSets: [daemonSet('old', { deleting: true }), cni], pods: [pod(cni)] },
      waits: [],
    },
    {
      why: 'a broken one is in another namespace',
      situation: { daemonSets: [cni, daemonSet('app', { namespace: 'tenant' })], pods: [pod(cni)] },
      waits: [],
    },
    {
      why: 'a broken one is in another namespace, and all count',
      situation: {
        daemonSets: [cni, daemonSet('app', { namespace: 'tenant' })],
        pods: [pod(cni)],
        policies: { a: waitsForAll(A, {}) },
      },
      waits: ['DaemonSet tenant/app: it has no pod on the node'],
    },
    {
      why: 'a broken one is excepted',
      situation: {
        daemonSets: [cni, proxy],
        pods: [pod(cni)],
        policies: { a: waitsForAll(A, { except: [{ namespace: 'kube-system', name: 'proxy' }] }) },
      },
      waits: [],
    },
    {
      why: 'one that the leader cannot read may run on the node',
      situation: { daemonSets: [cni], pods: [pod(cni)], unreadable: [{ namespace: 'kube-system', name: 'proxy' }] },
      waits: ['DaemonSet kube-system/proxy: the leader cannot read it; the log of the leader says why'],
    },
    {
      why: 'the leader can read only an earlier version, of which the pod is Ready',
      situation: { daemonSets: [cni], pods: [pod(cni)], unreadable: [{ namespace: 'kube-system', name: 'cni' }] },
      waits: ['DaemonSet kube-system/cni: the leader cannot read it; the log of the leader says why'],
    },
    {
      why: 'one that the leader cannot read, which only one of two policies waits for',
      situation: {
        daemonSets: [],
        unreadable: [{ namespace: 'kube-system', name: 'proxy' }],
        policies: { a: waitsForAll(A, { namespaces: ['tenant'] }), b: waitsForAll(A) },
      },
      waits: ['DaemonSet kube-system/proxy: the leader cannot read it; the log of the leader says why'],
    },
    {
      why: 'one that the leader cannot read is excepted',
      situation: {
        daemonSets: [cni],
        pods: [pod(cni)],
        unreadable: [{ namespace: 'kube-system', name: 'proxy' }],
        policies: { a: waitsForAll(A, { except: [{ namespace: 'kube-system', name: 'proxy' }] }) },
      },
      waits: [],
    },
    {
      why: 'one of the same name in another namespace than the excepted',
      situation: {
        daemonSets: [daemonSet('cni', { namespace: 'tenant' })],
        policies: { a: waitsForAll(A, { except: [{ namespace: 'kube-system', name: 'cni' }] }) },
      },
      waits: ['DaemonSet tenant/cni: it has no pod on the node'],
    },
  ])('$why', ({ situation, waits }) => {
    expect(waitsFor(situation)).toEqual(waits);
    expect(removed(situation)).toEqual(waits.length === 0 ? [formatTaint(A)] : []);
  });

  it('do not include those that would keep the taint, and the reason is known', () => {
    const daemonSets = [
      daemonSet('old', { deleting: true }),
      daemonSet('app', { tolerations: [] }),
      daemonSet('above', { tolerations: [{ key: A.key, operator: 'Gt', value: '1' }, ...only(B)] }),
      daemonSet('gpu', { tolerations: [], nodeSelector: { pool: 'gpu' } }),
      cni,
    ];
    const [a, b] = [A, B].map(formatTaint);
    expect(leftOut(daemonSets)).toEqual([
      'DaemonSet kube-system/old: it is being deleted',
      `DaemonSet kube-system/app: taint ${a} is not tolerated, taint ${b} is not tolerated`,
      `DaemonSet kube-system/above: unknown: taint ${a} may be tolerated by example.com/a=1 (Gt)`,
    ]);
    expect(leftOut([cni])).toEqual([]);
  });

  it('of a virtual node are those that select it otherwise', () => {
    expect(leftOut([daemonSet('app', { tolerations: [] })], { type: 'virtual-kubelet' })).toHaveLength(1);
  });

  it.each([
    [
      'node.cloudprovider.kubernetes.io/uninitialized',
      'all DaemonSets: the cloud provider has not initialized the node, so labels are missing',
    ],
    [
      'node.cluster.x-k8s.io/uninitialized',
      'all DaemonSets: Cluster API has not initialized the node, so labels are missing',
    ],
    ['karpenter.sh/unregistered', 'Karpenter: it has not registered the node'],
  ])('are not known before %s is removed: labels may arrive', (key, text) => {
    const taints = [A, { key, effect: 'NoExecute' }];
    expect(waitsFor({ daemonSets: [], node: { taints } })).toEqual([text]);
    const gpu = daemonSet('gpu', { nodeSelector: { pool: 'gpu' } });
    expect(waitsFor({ daemonSets: [gpu], node: { taints, labels: { pool: 'gpu' } } })).toEqual([text]);
  });

  it('two such taints, each tolerated by other DaemonSets, do not wait for each other', () => {
    const policies = { a: waitsForAll(A), b: waitsForAll(B) };
    const onlyA = daemonSet('only-a', { tolerations: only(A) });
    const onlyB = daemonSet('only-b', { tolerations: only(B) });
    const both = daemonSet('both', { tolerations: only(A, B) });
    const node = { taints: [A, B] };
    expect(waitsFor({ daemonSets: [onlyA, onlyB, both], policies, node })).toEqual(
      Array(2).fill('DaemonSet kube-system/both: it has no pod on the node'),
    );
    expect(removed({ daemonSets: [onlyA, onlyB, both], pods: [pod(both)], policies, node })).toEqual(
      [A, B].map(formatTaint),
    );
    // With the other taint gone, the DaemonSet can run.
    expect(waitsFor({ daemonSets: [onlyA], policies, node: { taints: [A] } })).toEqual([
      'DaemonSet kube-system/only-a: it has no pod on the node',
    ]);
  });

  it('are those of each policy that has the taint, and each is named once', () => {
    const tenant = daemonSet('app', { namespace: 'tenant' });
    const { namespace, name } = cni;
    const policies: Record<string, TaintPolicySpec> = {
      a: waitsForAll(A),
      b: waitsForAll(A, { namespaces: ['tenant'] }),
      c: {
        mode: 'Restore',
        taints: [
          { key: A.key, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { daemonSets: [{ namespace, name }] } },
        ],
      },
    };
    expect(waitsFor({ daemonSets: [cni, tenant], policies })).toEqual([
      'DaemonSet kube-system/cni: it has no pod on the node',
      'DaemonSet tenant/app: it has no pod on the node',
    ]);
  });

  it('of a node that registered without the taint do not count those that will not tolerate it', () => {
    const node = { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] };
    expect(step({ daemonSets: [daemonSet('app', { tolerations: [] })], node }).toSetLate).toEqual([]);
    expect(step({ daemonSets: [cni], node }).toSetLate).toHaveLength(1);
  });
});
