import type { Taint } from './nodes.ts';

/** A node of a cluster in which few nodes are alike. */
export interface MixedNode {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  /** Conditions that are not those of a healthy node, and the taints of `node.kubernetes.io` that the controllers make of them. */
  readonly problem?: {
    readonly conditions: Readonly<Record<string, 'True' | 'False'>>;
    readonly taints: readonly string[];
  };
}

const MASTER: Taint = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
const CONTROL_PLANE: Taint = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };

const OLD_LABEL = { [MASTER.key]: '' };

export const MIXED_NODES: readonly MixedNode[] = [
  { name: 'master', taints: [MASTER], labels: OLD_LABEL },
  { name: 'control-plane', taints: [CONTROL_PLANE], labels: { zone: 'a' } },
  { name: 'both-roles', taints: [MASTER, CONTROL_PLANE], labels: { ...OLD_LABEL, [CONTROL_PLANE.key]: '' } },
  { name: 'plain' },
  {
    name: 'gpu',
    labels: { pool: 'gpu', zone: 'a', cores: '64' },
    taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
  },
  {
    name: 'gpu-evicting',
    labels: { pool: 'gpu', zone: 'b', cores: '8' },
    taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoExecute' }],
  },
  {
    name: 'batch',
    labels: { pool: 'batch', zone: 'b', cores: '9' },
    taints: [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }],
  },
  {
    name: 'preferring',
    labels: { zone: 'c', cores: 'many' },
    taints: [{ key: 'dedicated', effect: 'PreferNoSchedule' }],
  },
  { name: 'empty-label', labels: { pool: '', cores: '10' } },
  { name: 'cordoned', labels: { zone: 'a' }, unschedulable: true },
  {
    name: 'no-network',
    problem: { conditions: { NetworkUnavailable: 'True' }, taints: ['network-unavailable:NoSchedule'] },
  },
  {
    name: 'pressed',
    problem: {
      conditions: { MemoryPressure: 'True', DiskPressure: 'True', PIDPressure: 'True' },
      taints: ['memory-pressure:NoSchedule', 'disk-pressure:NoSchedule', 'pid-pressure:NoSchedule'],
    },
  },
  {
    name: 'not-ready',
    labels: { zone: 'a' },
    problem: { conditions: { Ready: 'False' }, taints: ['not-ready:NoSchedule', 'not-ready:NoExecute'] },
  },
  {
    name: 'maintained',
    labels: { pool: 'batch' },
    taints: [{ key: 'example.com/maintenance', effect: 'NoExecute' }, MASTER],
  },
];

const EVERYTHING = { operator: 'Exists' };

const affine = (...nodeSelectorTerms: object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const byLabel = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});
const byName = (operator: string, name: string) => ({
  matchFields: [{ key: 'metadata.name', operator, values: [name] }],
});
/** An affinity by itself: no taint is in its way. */
const onlyAffine = (...terms: object[]) => ({ ...affine(...terms), tolerations: [EVERYTHING] });

/** What the pod templates of DaemonSets say about nodes, by the DaemonSet's name. */
export const MIXED_DAEMON_SETS: Readonly<Record<string, object>> = {
  anywhere: {},
  'host-network': { hostNetwork: true },
  everywhere: { tolerations: [EVERYTHING] },
  'tolerates-master': { tolerations: [{ key: MASTER.key, operator: 'Exists', effect: 'NoSchedule' }] },
  'tolerates-control-plane': { tolerations: [{ key: CONTROL_PLANE.key, effect: 'NoSchedule' }] },
  'tolerates-roles': {
    hostNetwork: true,
    tolerations: [
      { key: MASTER.key, operator: 'Exists' },
      { key: CONTROL_PLANE.key, operator: 'Exists' },
    ],
  },
  'tolerates-gpu': { tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'gpu' }] },
  'tolerates-dedicated': { tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }] },
  'tolerates-no-value': { tolerations: [{ key: 'dedicated', operator: 'Equal' }] },
  'tolerates-no-schedule': { tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }] },
  'tolerates-no-execute': { tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3600 }] },
  'selects-gpu': { nodeSelector: { pool: 'gpu' }, tolerations: [{ key: 'dedicated', operator: 'Exists' }] },
  'selects-zone': { nodeSelector: { zone: 'a' } },
  'selects-master': { nodeSelector: OLD_LABEL, tolerations: [{ key: MASTER.key, operator: 'Exists' }] },
  'selects-both': { nodeSelector: { zone: 'b', pool: 'gpu' }, tolerations: [EVERYTHING] },
  'selects-empty': { nodeSelector: { pool: '' } },
  'affine-in': onlyAffine(byLabel('zone', 'In', 'a', 'c')),
  'affine-not-in': onlyAffine(byLabel('zone', 'NotIn', 'a', 'c')),
  'affine-exists': onlyAffine(byLabel('pool', 'Exists')),
  'affine-does-not-exist': onlyAffine(byLabel('pool', 'DoesNotExist')),
  'affine-master': onlyAffine(byLabel(MASTER.key, 'Exists'), byLabel('pool', 'In', 'batch')),
  'affine-gt': onlyAffine(byLabel('cores', 'Gt', '9')),
  'affine-lt': onlyAffine(byLabel('cores', 'Lt', '10')),
  'affine-gt-word': onlyAffine(byLabel('cores', 'Gt', 'many')),
  'affine-name': onlyAffine(byName('In', 'master')),
  'affine-other-names': affine(byName('NotIn', 'plain')),
  'affine-either': onlyAffine({}, byLabel('cores', 'Lt', 'many'), byLabel('pool', 'In', 'gpu'), byName('In', 'plain')),
  'affine-and': onlyAffine({ ...byLabel('zone', 'Exists'), ...byName('NotIn', 'gpu') }),
  'affine-nothing': onlyAffine({}),
  'affine-and-selects': { nodeSelector: { zone: 'a' }, ...onlyAffine(byLabel('cores', 'Exists')) },
  'prefers-gpu': {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: byLabel('pool', 'In', 'gpu') }],
      },
    },
  },
  'named-plain': { nodeName: 'plain' },
  'named-master': { nodeName: 'master' },
};
