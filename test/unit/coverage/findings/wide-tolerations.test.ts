import { describe, expect, it } from 'vitest';
import { wideTolerations } from '../../../../src/coverage/findings/wide-tolerations.ts';
import type { Workload, WorkloadKind } from '../../../../src/coverage/workload.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';

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

function workload(
  kind: WorkloadKind,
  name: string,
  tolerations: readonly Toleration[] = [EVERYTHING],
  managedBy?: string,
): Workload {
  const scheduling = { nodeName: '', nodeSelector: {}, nodeAffinity: undefined, hostNetwork: false, tolerations };
  return { namespace: 'ns', name, kind, managedBy, ...scheduling };
}

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
    const wide = wideTolerations([workload('Deployment', 'web', tolerations)]);
    expect(wide.map((one) => one.returnsTo)).toEqual(returnsTo);
    expect(wide.map((one) => one.staysOn)).toEqual(staysOn);
  });
});

it('is reported once for each workload except DaemonSets, by namespace, name and kind', () => {
  const twice = [EVERY_NO_SCHEDULE, EVERY_NO_SCHEDULE, UNREACHABLE];
  const found = wideTolerations([
    workload('StatefulSet', 'db'),
    workload('DaemonSet', 'agent'),
    workload('CronJob', 'nightly'),
    workload('Deployment', 'plain', []),
    { ...workload('Deployment', 'web', twice), namespace: 'a' },
  ]);
  expect(found.map(({ kind, namespace, name, toleration }) => `${kind} ${namespace}/${name} ${toleration}`)).toEqual([
    'Deployment a/web *:NoSchedule',
    'Deployment a/web node.kubernetes.io/unreachable:NoExecute',
    'StatefulSet ns/db *',
    'CronJob ns/nightly *',
  ]);
});

describe('the change to make', () => {
  it.each<{ what: string; subject: Workload; change: string }>([
    { what: 'of a cordon', subject: workload('Deployment', 'a', [UNSCHEDULABLE]), change: 'remove it' },
    {
      what: 'of a dead node',
      subject: workload('StatefulSet', 'a', [UNREACHABLE]),
      change: 'add tolerationSeconds: 300',
    },
    {
      what: 'of a dead node, where an effect is required as well',
      subject: workload('Deployment', 'a', [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists' }]),
      change: 'add effect: NoExecute and tolerationSeconds: 300',
    },
    {
      what: 'where an operator would revert it',
      subject: workload('Deployment', 'calico-typha', [EVERYTHING], 'Installation default'),
      change: 'replace it with tolerations that each name a key (managed by Installation default: change it there)',
    },
  ])('$what', ({ subject, change }) => {
    expect(wideTolerations([subject]).map((one) => one.change)).toEqual([change]);
  });
});
