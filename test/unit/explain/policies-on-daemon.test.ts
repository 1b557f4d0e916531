import { describe, expect, it } from 'vitest';
import {
  type InForce,
  type PoliciesOnDaemon,
  policiesOnDaemonSet,
  policiesOnPod,
} from '../../../src/explain/policies-on-daemon.ts';
import { IGNORE_ANNOTATION } from '../../../src/judge/daemon-set-view.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { type Policy, parsePolicy } from '../../../src/policy/policy.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { manifest } from '../policy/policies.ts';
import { CONTROL_PLANE, daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

const tolerating = (key: string): Toleration => ({ key, operator: 'Exists', effect: 'NoSchedule' });
const subject = (given: object = {}) => ({
  ...daemonSet('agent'),
  labels: {},
  annotations: {},
  deleting: false,
  ...given,
});

function policy(kind: string, name: string, spec: object): Policy {
  const result = parsePolicy(manifest(kind, name, { daemonSets: { namespaces: ['kube-system'] }, ...spec }));
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.policy;
}

const NODES = [node('m', [MASTER]), node('c', [CONTROL_PLANE]), node('w'), node('v'), node('starting', [NOT_READY])];
const ROLES = policy('TolerationPolicy', 'roles', { mode: 'Mutate' });

const inForce = (policies: readonly Policy[], audit = false): InForce => ({
  policies,
  compiled: compilePolicies(policies, { audit }),
  audit,
});

const tolerationsIn = ({ tolerations }: PoliciesOnDaemon) =>
  tolerations.map(({ toleration, state, by }) => [toleration, state, ...by.map(({ policy }) => policy)].join(' '));
const policiesIn = ({ policies }: PoliciesOnDaemon) =>
  policies.map(({ kind, policy, mode, unmet }) => [kind, policy, mode, ...unmet].join(' '));

describe('a DaemonSet', () => {
  it('has its own tolerations, required ones and missing ones', () => {
    const explained = policiesOnDaemonSet(
      subject({ tolerations: [tolerating('own'), tolerating(MASTER.key)] }),
      NODES,
      inForce([ROLES]),
    );
    expect(tolerationsIn(explained)).toEqual([
      'own:NoSchedule own',
      'node-role.kubernetes.io/master:NoSchedule required roles',
      'node-role.kubernetes.io/control-plane:NoSchedule missing roles',
    ]);
  });

  it('runs on some nodes, and is kept off others', () => {
    const { places, permanentTaints, waiting } = policiesOnDaemonSet(subject({ nodeSelector: {} }), NODES, inForce([]));
    expect(places).toEqual([
      {
        nodes: ['m'],
        runs: false,
        why: ['taint node-role.kubernetes.io/master:NoSchedule'],
        evictedBy: [],
        passing: false,
      },
      {
        nodes: ['c'],
        runs: false,
        why: ['taint node-role.kubernetes.io/control-plane:NoSchedule'],
        evictedBy: [],
        passing: false,
      },
      { nodes: ['w', 'v'], runs: true, why: [], evictedBy: [], passing: false },
      {
        nodes: ['starting'],
        runs: false,
        why: ['taint node.kubernetes.io/not-ready:NoSchedule'],
        evictedBy: [],
        passing: true,
      },
    ]);
    expect(permanentTaints).toEqual([MASTER, CONTROL_PLANE]);
    expect(waiting).toEqual([NOT_READY]);
  });

  describe('that does not tolerate a startup taint of a policy', () => {
    const OWN = { key: 'example.com/storage-not-ready', effect: 'NoSchedule' };
    const waitingFor = (name: string, key = OWN.key) => {
      const readyWhen = { daemonSets: [{ namespace: 'kube-system', name }] };
      const taints = [{ ...OWN, key, ensure: 'UntilReady', readyWhen }];
      const spec = { mode: 'Restore', nodeSelector: { matchLabels: { pool: 'a' } }, taints };
      const result = parsePolicy(manifest('TaintPolicy', 'storage', spec));
      if (!result.ok) throw new Error(JSON.stringify(result.problems));
      return [result.policy];
    };
    const nodes = [node('a', [OWN], { pool: 'a' }), node('b', [OWN])];
    const why = [`taint ${OWN.key}:NoSchedule`];

    it('runs there soon, where the policy selects the node', () => {
      const { places, permanentTaints, waiting } = policiesOnDaemonSet(subject(), nodes, inForce(waitingFor('csi')));
      expect(places).toEqual([
        { nodes: ['a'], runs: false, why, evictedBy: [], passing: true },
        { nodes: ['b'], runs: false, why, evictedBy: [], passing: false },
      ]);
      expect({ permanentTaints, waiting }).toEqual({ permanentTaints: [OWN], waiting: [OWN] });
      expect(policiesOnPod(subject(), undefined, nodes, inForce(waitingFor('agent'))).waiting).toEqual([OWN]);
    });

    it.each([OWN.key, 'node.cilium.io/agent-not-ready'])('never runs there, if %s waits for it', (key) => {
      const some = [node('a', [{ ...OWN, key }], { pool: 'a' })];
      const { permanentTaints, waiting } = policiesOnDaemonSet(subject(), some, inForce(waitingFor('agent', key)));
      expect({ permanentTaints, waiting }).toEqual({ permanentTaints: [{ ...OWN, key }], waiting: [] });
    });
  });

  it('that tolerates a taint for some seconds runs there, and each pod is evicted', () => {
    const evicting = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' };
    const unreachable = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
    const tolerations = [{ operator: 'Exists', tolerationSeconds: 60 }] as const;
    const nodes = [node('evicting', [evicting]), node('w'), node('down', [unreachable])];
    const places = [
      {
        nodes: ['evicting'],
        runs: true,
        why: ['taint dedicated=gpu:NoExecute evicts each pod after 60 s'],
        evictedBy: [evicting],
        passing: false,
      },
      { nodes: ['w', 'down'], runs: true, why: [], evictedBy: [], passing: false },
    ];
    const explained = policiesOnDaemonSet(subject({ tolerations }), nodes, inForce([]));
    expect(explained).toMatchObject({ places, permanentTaints: [], waiting: [] });
    expect(policiesOnPod(subject({ tolerations }), undefined, nodes, inForce([]))).toMatchObject({ places });
  });

  it('does not run on virtual nodes, also where it tolerates their taints', () => {
    const virtual = node('vk', [{ key: 'virtual-kubelet.io/provider', effect: 'NoSchedule' }], {
      type: 'virtual-kubelet',
    });
    const explained = (...tolerations: Toleration[]) =>
      policiesOnDaemonSet(subject({ tolerations }), [virtual, node('w')], inForce([]));
    const onWorker = { nodes: ['w'], runs: true, why: [], evictedBy: [], passing: false };
    expect(explained({ operator: 'Exists' })).toMatchObject({
      places: [
        {
          nodes: ['vk'],
          runs: false,
          why: [
            'virtual node type=virtual-kubelet: its pod stays Pending, require by node affinity: type NotIn [virtual-kubelet]',
          ],
          passing: false,
        },
        onWorker,
      ],
      permanentTaints: [],
    });
    const executing = node('vk', [{ key: 'gpu', effect: 'NoExecute' }], { type: 'virtual-kubelet' });
    const tolerations = [{ operator: 'Exists', tolerationSeconds: 60 }];
    expect(policiesOnDaemonSet(subject({ tolerations }), [executing], inForce([])).places).toMatchObject([
      { runs: false, evictedBy: [] },
    ]);
    expect(explained()).toMatchObject({
      places: [
        { runs: false, why: ['taint virtual-kubelet.io/provider:NoSchedule', 'virtual node type=virtual-kubelet'] },
        onWorker,
      ],
      permanentTaints: [],
    });
  });

  it('that does not select a node is not kept off it by a taint', () => {
    const { places, permanentTaints } = policiesOnDaemonSet(
      subject({ nodeSelector: { pool: 'gpu' } }),
      [node('g', [GPU])],
      inForce([]),
    );
    expect(places[0]?.why).toEqual(['nodeSelector pool=gpu', 'taint dedicated=gpu:NoSchedule']);
    expect(permanentTaints).toEqual([]);
  });

  it('is kept off by taints whose toleration no policy of any mode requires', () => {
    const notRequired = (policies: Policy[]) =>
      policiesOnDaemonSet(subject(), [...NODES, node('g', [GPU])], inForce(policies)).notRequired;
    expect(notRequired([ROLES])).toEqual([GPU]);
    expect(notRequired([policy('TolerationPolicy', 'roles', { mode: 'Audit' })])).toEqual([GPU]);
    expect(notRequired([])).toEqual([MASTER, CONTROL_PLANE, GPU]);
  });

  it.each([{ annotations: { [IGNORE_ANNOTATION]: 'true' } }, { deleting: true }])(
    'is kept off by the same taints if it gets no toleration: %j',
    (given) => {
      const { notRequired } = policiesOnDaemonSet(subject(given), [...NODES, node('g', [GPU])], inForce([ROLES]));
      expect(notRequired).toEqual([GPU]);
    },
  );

  it('is kept off by a role taint with a value if admission adds no toleration to its own one without a value', () => {
    const withValue = { ...CONTROL_PLANE, value: 'true' };
    const notRequired = (tolerations: Toleration[]) =>
      policiesOnDaemonSet(subject({ tolerations }), [node('c', [withValue])], inForce([ROLES])).notRequired;
    expect(notRequired([{ key: CONTROL_PLANE.key, effect: 'NoSchedule' }])).toEqual([withValue]);
    expect(notRequired([])).toEqual([]);
  });

  it('is selected by policies, or the unmet requirements are listed', () => {
    const explained = policiesOnDaemonSet(
      subject({ labels: { tier: 'a' } }),
      [],
      inForce([
        ROLES,
        policy('RecoveryPolicy', 'recovery', { mode: 'Recover' }),
        policy('TolerationPolicy', 'elsewhere', {
          mode: 'Audit',
          daemonSets: { namespaces: ['a', 'b-*'], names: ['x'], selector: { matchLabels: { tier: 'b' } } },
        }),
      ]),
    );
    expect(policiesIn(explained)).toEqual([
      'TolerationPolicy roles Mutate',
      'RecoveryPolicy recovery Recover',
      'TolerationPolicy elsewhere Audit namespace a or b-* name x label tier=b',
    ]);
  });

  it('that opts out lacks nothing', () => {
    const explained = policiesOnDaemonSet(
      subject({ annotations: { [IGNORE_ANNOTATION]: 'true' } }),
      NODES,
      inForce([ROLES]),
    );
    expect(explained.optsOut).toBe(true);
    expect(tolerationsIn(explained)).toEqual([]);
  });

  it('is only reported on where taintkeeper runs with --audit', () => {
    const existing = policy('TolerationPolicy', 'roles', { mode: 'Mutate', existing: 'Patch' });
    const modesOf = (audit: boolean) =>
      policiesOnDaemonSet(subject(), [], inForce([existing], audit)).policies.map(({ mode, patchesExisting }) => [
        mode,
        patchesExisting,
      ]);
    expect([modesOf(false), modesOf(true)]).toEqual([[['Mutate', true]], [['Audit', false]]]);
  });
});

describe('a pod', () => {
  const pod = (given: object = {}) => ({ ...daemonSet('agent-x7k2p'), ...given });

  it('of a DaemonSet has its own tolerations, which may be those of an earlier template', () => {
    const owner = subject({ tolerations: [tolerating(MASTER.key), tolerating(CONTROL_PLANE.key)] });
    const explained = policiesOnPod(pod({ tolerations: [tolerating(MASTER.key)] }), owner, NODES, inForce([ROLES]));
    expect(tolerationsIn(explained)).toEqual([
      'node-role.kubernetes.io/master:NoSchedule required roles',
      'node-role.kubernetes.io/control-plane:NoSchedule missing roles',
    ]);
    expect(policiesIn(explained)).toEqual(['TolerationPolicy roles Mutate']);
  });

  it('of another owner can run on a virtual node', () => {
    const virtual = node('vk', [], { type: 'virtual-kubelet' });
    const runsIn = (owner?: ReturnType<typeof subject>) =>
      policiesOnPod(pod(), owner, [virtual], inForce([])).places[0]?.runs;
    expect([runsIn(), runsIn(subject())]).toEqual([true, false]);
  });

  it('of another owner is selected by no policy, and gets no toleration', () => {
    const pressed = node('pressed', [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }]);
    const explained = policiesOnPod(pod({ tolerations: [tolerating('own')] }), undefined, [pressed], inForce([ROLES]));
    expect(tolerationsIn(explained)).toEqual(['own:NoSchedule own']);
    expect(explained.policies).toEqual([]);
    expect(explained.places).toMatchObject([{ runs: false, passing: true }]);
    expect(policiesOnDaemonSet(subject(), [pressed], inForce([])).places).toMatchObject([{ runs: true }]);
  });
});
