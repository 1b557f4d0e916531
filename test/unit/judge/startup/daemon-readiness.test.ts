import { describe, expect, it } from 'vitest';
import { awaitedOn, type DaemonPodOnNode, daemonSetBlockers } from '../../../../src/judge/startup/daemon-readiness.ts';
import { daemonSet } from '../../scheduling/scheduling.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' };
const OTHER = { key: 'example.com/gpu', effect: 'NoSchedule' };
const OTHER_NUMBER = { ...OTHER, value: '2' };
const CILIUM = { namespace: 'kube-system', name: 'cilium' };
/** Selects all nodes, and tolerates all taints. */
const DAEMON_SET = { ...daemonSet('cilium', { tolerations: [{ operator: 'Exists' }] }), deleting: false };

const pod = (more: Partial<DaemonPodOnNode> = {}): DaemonPodOnNode => ({
  namespace: 'kube-system',
  owner: 'cilium-uid',
  createdAt: CREATED,
  isReady: true,
  isTerminating: false,
  ...more,
});

function problems(
  pods: readonly DaemonPodOnNode[],
  more: object = {},
  labels: Readonly<Record<string, string>> = {},
  taints = [TAINT],
) {
  const node = { name: 'n', labels, taints, createdAt: CREATED };
  return textsOf([CILIUM], node, pods, () => ({ uid: 'cilium-uid', value: { ...DAEMON_SET, ...more } }));
}

/** All of these are known not to be ready. */
function textsOf(
  daemonSets: Parameters<typeof awaitedOn>[0],
  node: Parameters<typeof awaitedOn>[1],
  pods: readonly DaemonPodOnNode[],
  daemonSetOf: Parameters<typeof awaitedOn>[2],
): string[] {
  return daemonSetBlockers(awaitedOn(daemonSets, node, daemonSetOf), node, pods).map(({ text, state }) =>
    state === 'Unmet' ? text : state,
  );
}

const NAME = 'DaemonSet kube-system/cilium';

describe('a DaemonSet on a node', () => {
  it('is ready with a Ready pod, of any revision, also beside one that is being deleted', () => {
    expect(problems([pod()])).toEqual([]);
    expect(problems([pod({ isReady: false, isTerminating: true }), pod()])).toEqual([]);
  });

  it('is ready by a pod that seems two seconds older than the Node: another API server has stamped it', () => {
    expect(problems([pod({ createdAt: CREATED - 2_000 })])).toEqual([]);
  });

  it.each([
    ['its pod is not Ready', [pod({ isReady: false })]],
    ['its pod is being deleted', [pod({ isTerminating: true })]],
    ['it has no pod on the node', []],
    ['it has no pod on the node', [pod({ owner: 'another' }), pod({ owner: undefined })]],
    ['it has no pod on the node', [pod({ owner: 'another', createdAt: CREATED - 3_000 })]],
    ['it has no pod on the node', [pod({ namespace: 'tenant' })]],
    ['it has no pod on the node', [pod({ namespace: 'tenant', createdAt: CREATED - 3_000 })]],
    ['its pod is not Ready', [pod({ namespace: 'tenant' }), pod({ isReady: false })]],
    [
      'its pod is older than the Node: delete the pod, and the DaemonSet creates another one',
      [pod({ createdAt: CREATED - 3_000 })],
    ],
    ['it has no pod on the node', [pod({ createdAt: CREATED - 3_000, isTerminating: true })]],
    ['its pod is not Ready', [pod({ createdAt: CREATED - 3_000 }), pod({ isReady: false })]],
  ])('is not ready: %s', (problem, pods) => {
    expect(problems(pods)).toEqual([`${NAME}: ${problem}`]);
  });

  it('is one of several that must all be ready', () => {
    const other = { namespace: 'gpu', name: 'driver' };
    const daemonSetOf = ({ name }: { readonly name: string }) => ({ uid: `${name}-uid`, value: DAEMON_SET });
    const node = { name: 'n', labels: {}, taints: [TAINT], createdAt: CREATED };
    const blockers = (...pods: readonly DaemonPodOnNode[]) => textsOf([CILIUM, other], node, pods, daemonSetOf);
    const driver = pod({ namespace: 'gpu', owner: 'driver-uid' });
    expect(blockers(pod())).toEqual(['DaemonSet gpu/driver: it has no pod on the node']);
    expect(blockers(pod(), driver)).toEqual([]);
    // The leader watches the pods of both namespaces.
    expect(blockers(driver, { ...driver, owner: 'cilium-uid' })).toEqual([
      'DaemonSet kube-system/cilium: it has no pod on the node',
    ]);
  });

  it('is not ready if it does not exist, or is being deleted', () => {
    const node = { name: 'n', labels: {}, taints: [], createdAt: CREATED };
    expect(textsOf([CILIUM], node, [pod()], () => undefined)).toEqual([`${NAME}: it does not exist`]);
    expect(problems([pod()], { deleting: true })).toEqual([`${NAME}: it is being deleted`]);
  });

  it('is not ready if it does not select the node, whatever its pods', () => {
    const selecting = { nodeSelector: { network: 'cilium' } };
    expect(problems([pod()], selecting)).toEqual([
      `${NAME}: it does not select the node: nodeSelector requires network=cilium, the node has none`,
    ]);
    expect(problems([pod()], selecting, { network: 'cilium' })).toEqual([]);
    expect(problems([], { nodeSelector: { a: '', b: '' } })).toEqual([
      `${NAME}: it does not select the node: nodeSelector requires a=, the node has none, nodeSelector requires b=, the node has none`,
    ]);
  });

  it.each<{ why: string; tolerations: object[]; pods?: DaemonPodOnNode[]; keptOff: object | undefined }>([
    { why: 'nothing', tolerations: [{ operator: 'Exists' }], keptOff: undefined },
    { why: 'the taints that it does not tolerate', tolerations: [], keptOff: { by: [TAINT, OTHER_NUMBER] } },
    {
      why: 'no taint that it may tolerate',
      tolerations: [{ key: OTHER.key, operator: 'Gt', value: '1' }],
      keptOff: { by: [TAINT] },
    },
    { why: 'nothing once it has a pod', tolerations: [], pods: [pod({ isReady: false })], keptOff: undefined },
  ])('names what keeps its pods off: $why', ({ tolerations, pods = [], keptOff }) => {
    const value = { ...DAEMON_SET, tolerations };
    const node = { name: 'n', labels: {}, taints: [TAINT, OTHER_NUMBER], createdAt: CREATED };
    const awaited = awaitedOn([CILIUM], node, () => ({ uid: 'cilium-uid', value }));
    const found = daemonSetBlockers(awaited, node, pods).map((one) => one.keptOff);
    expect(found).toEqual([keptOff && { name: 'kube-system/cilium', ...keptOff }]);
  });

  it('says which taint keeps its pod off, and takes a pod that is there', () => {
    expect(problems([], { tolerations: [] })).toEqual([
      `${NAME}: it has no pod on the node: taint example.com/network:NoSchedule is not tolerated`,
    ]);
    expect(problems([pod()], { tolerations: [] })).toEqual([]);
    expect(problems([pod()], { tolerations: [{ key: TAINT.key, operator: 'Gt', value: '1' }] })).toEqual([]);
    expect(problems([], { tolerations: [] }, {}, [TAINT, OTHER])).toEqual([
      `${NAME}: it has no pod on the node: taint example.com/network:NoSchedule is not tolerated, taint example.com/gpu:NoSchedule is not tolerated`,
    ]);
  });
});
