import { describe, expect, it } from 'vitest';
import type { Tolerator } from '../../../src/coverage/tolerating.ts';
import { wideTolerations } from '../../../src/coverage/wide-tolerations.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';

const EVERYTHING: Toleration = { operator: 'Exists' };
const EVERY_NO_SCHEDULE: Toleration = { operator: 'Exists', effect: 'NoSchedule' };
const EVERY_NO_EXECUTE: Toleration = { operator: 'Exists', effect: 'NoExecute' };
const UNSCHEDULABLE: Toleration = {
  key: 'node.kubernetes.io/unschedulable',
  operator: 'Exists',
  effect: 'NoSchedule',
};
const UNREACHABLE: Toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
const NOT_READY: Toleration = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' };
const DRAINED = [
  'node.kubernetes.io/unschedulable:NoSchedule',
  'karpenter.sh/disrupted:NoSchedule',
  'ToBeDeletedByClusterAutoscaler:NoSchedule',
];
const DEAD = ['node.kubernetes.io/not-ready:NoExecute', 'node.kubernetes.io/unreachable:NoExecute'];

function tolerator(
  kind: Tolerator['kind'],
  name: string,
  tolerations: readonly Toleration[] = [EVERYTHING],
  given: Partial<Tolerator> = {},
): Tolerator {
  return {
    kind,
    name,
    pod: { namespace: 'ns', serviceAccount: '', nodeName: '', tolerations },
    owner: undefined,
    templateHash: '',
    managedBy: undefined,
    ...given,
  };
}
const podOf = (kind: string, owner: string, name: string, given: Partial<Tolerator> = {}) =>
  tolerator('Pod', name, [EVERYTHING], { owner: { kind, name: owner }, ...given });
const found = (...tolerators: readonly Tolerator[]) => wideTolerations(tolerators);
const workloadsIn = (...tolerators: readonly Tolerator[]) =>
  found(...tolerators).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);

describe('a toleration', () => {
  it.each<{ what: string; tolerations: readonly Toleration[]; returnsTo?: string[][]; staysOn?: string[][] }>([
    { what: 'of every taint does both', tolerations: [EVERYTHING], returnsTo: [DRAINED], staysOn: [DEAD] },
    {
      what: 'of every NoSchedule taint returns',
      tolerations: [EVERY_NO_SCHEDULE],
      returnsTo: [DRAINED],
      staysOn: [[]],
    },
    { what: 'of every NoExecute taint stays', tolerations: [EVERY_NO_EXECUTE], returnsTo: [[]], staysOn: [DEAD] },
    {
      what: 'of the taint of a cordon returns, with any operator and without an effect',
      tolerations: [{ key: 'node.kubernetes.io/unschedulable' }],
      returnsTo: [DRAINED.slice(0, 1)],
      staysOn: [[]],
    },
    {
      what: 'of an autoscaler’s taint, which has a value, returns with Exists',
      tolerations: [
        { key: 'ToBeDeletedByClusterAutoscaler', operator: 'Exists' },
        { key: 'ToBeDeletedByClusterAutoscaler' },
      ],
      returnsTo: [DRAINED.slice(2)],
      staysOn: [[]],
    },
    {
      what: 'of one of the two taints of dead nodes stays on those',
      tolerations: [UNREACHABLE],
      returnsTo: [[]],
      staysOn: [DEAD.slice(1)],
    },
    {
      what: 'with tolerationSeconds does not stay',
      tolerations: [
        { ...NOT_READY, tolerationSeconds: 300 },
        { ...UNREACHABLE, tolerationSeconds: 0 },
      ],
    },
    {
      what: 'that follows one with tolerationSeconds does not count',
      tolerations: [{ ...EVERY_NO_EXECUTE, tolerationSeconds: 60 }, UNREACHABLE],
    },
    {
      what: 'that comes before one with tolerationSeconds does',
      tolerations: [UNREACHABLE, { ...EVERY_NO_EXECUTE, tolerationSeconds: 60 }],
      returnsTo: [[]],
      staysOn: [DEAD.slice(1)],
    },
    {
      what: 'of a node that starts is none',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'CriticalAddonsOnly', operator: 'Exists' },
      ],
    },
    { what: 'with Gt is none', tolerations: [{ ...UNSCHEDULABLE, operator: 'Gt', value: '1' }] },
  ])('$what', ({ tolerations, returnsTo = [], staysOn = [] }) => {
    const wide = found(tolerator('Deployment', 'web', tolerations));
    expect(wide.map((one) => one.returnsTo)).toEqual(returnsTo);
    expect(wide.map((one) => one.staysOn)).toEqual(staysOn);
  });
});

describe('a workload', () => {
  it('is what made the pods', () => {
    const web = { owner: { kind: 'ReplicaSet', name: 'web-5d9f' }, templateHash: '5d9f' };
    expect(
      workloadsIn(
        tolerator('Deployment', 'web'),
        tolerator('Pod', 'web-5d9f-a', [EVERYTHING], web),
        tolerator('Pod', 'gone-77c-a', [EVERYTHING], {
          owner: { kind: 'ReplicaSet', name: 'gone-77c' },
          templateHash: '77c',
        }),
        podOf('ReplicaSet', 'alone', 'alone-a'),
        podOf('StrimziPodSet', 'kafka', 'kafka-0'),
        tolerator('StatefulSet', 'db'),
        podOf('StatefulSet', 'db', 'db-0'),
        tolerator('CronJob', 'nightly'),
        tolerator('Job', 'nightly-1', [EVERYTHING], { owner: { kind: 'CronJob', name: 'nightly' } }),
        podOf('Job', 'nightly-1', 'nightly-1-x'),
        tolerator('Job', 'once'),
        podOf('Job', 'once', 'once-x'),
        tolerator('Pod', 'bare'),
      ),
    ).toEqual([
      'ReplicaSet ns/alone',
      'Pod ns/bare',
      'StatefulSet ns/db',
      'Deployment ns/gone',
      'StrimziPodSet ns/kafka',
      'CronJob ns/nightly',
      'Job ns/once',
      'Deployment ns/web',
    ]);
  });

  it('is no daemon and no static pod', () => {
    expect(
      workloadsIn(
        tolerator('DaemonSet', 'agent'),
        podOf('DaemonSet', 'agent', 'agent-x'),
        podOf('Node', 'n1', 'etcd-n1'),
      ),
    ).toEqual([]);
  });

  it('has each of its tolerations once, those of its pods included', () => {
    const deployment = tolerator('Deployment', 'web', [EVERY_NO_SCHEDULE, EVERY_NO_SCHEDULE]);
    const pods = ['a', 'b'].map((name) =>
      tolerator('Pod', name, [{ effect: 'NoSchedule', operator: 'Exists' }, UNREACHABLE], {
        owner: { kind: 'ReplicaSet', name: 'web-1' },
        templateHash: '1',
      }),
    );
    expect(found(...pods, deployment).map(({ toleration, change }) => [toleration, change])).toEqual([
      ['*:NoSchedule', 'replace it with tolerations that each name a key'],
      [
        'node.kubernetes.io/unreachable:NoExecute',
        'the template does not have it: an admission webhook adds it, or the pod is of an earlier rollout',
      ],
    ]);
  });
});

describe('the change to make', () => {
  it.each<{ what: string; subject: Tolerator; change: string }>([
    { what: 'of a cordon', subject: tolerator('Deployment', 'a', [UNSCHEDULABLE]), change: 'remove it' },
    {
      what: 'of a dead node',
      subject: tolerator('StatefulSet', 'a', [UNREACHABLE]),
      change: 'add tolerationSeconds: 300',
    },
    {
      what: 'of a dead node, where an effect is required as well',
      subject: tolerator('Deployment', 'a', [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists' }]),
      change: 'add effect: NoExecute and tolerationSeconds: 300',
    },
    {
      what: 'where an operator would revert it',
      subject: tolerator('Deployment', 'calico-typha', [EVERYTHING], {
        owner: { kind: 'Installation', name: 'default' },
      }),
      change: 'replace it with tolerations that each name a key, in Installation default',
    },
    {
      what: 'of pods that something else makes',
      subject: podOf('StrimziPodSet', 'kafka', 'kafka-0'),
      change: 'replace it with tolerations that each name a key, in StrimziPodSet kafka',
    },
    {
      what: 'of a release of Helm',
      subject: tolerator('Deployment', 'a', [UNSCHEDULABLE], { managedBy: 'Helm, for release a' }),
      change: 'remove it (managed by Helm, for release a: change it there, too)',
    },
    {
      what: 'of a pod',
      subject: tolerator('Pod', 'a', [UNSCHEDULABLE]),
      change: 'remove it, and create the Pod again, because that cannot be changed',
    },
    {
      what: 'of a Job',
      subject: tolerator('Job', 'a', [UNREACHABLE]),
      change: 'add tolerationSeconds: 300, and create the Job again, because that cannot be changed',
    },
  ])('$what', ({ subject, change }) => {
    expect(found(subject).map((one) => one.change)).toEqual([change]);
  });
});
