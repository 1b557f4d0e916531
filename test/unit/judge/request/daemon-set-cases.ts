import { type DaemonSetView, IGNORE_ANNOTATION } from '../../../../src/judge/daemon-set-view.ts';
import { NEW_ROLE, OLD_ROLE } from '../../../../src/kubernetes/roles.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { PolicyToleration, TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import type { DaemonSetState } from '../../cel-rules/scenarios.ts';

/**
 * A request about a DaemonSet and its result, whatever decides it: src/judge, the webhooks by their match conditions, or native policies. Each of
 * them has a test that runs this table.
 */
export interface DaemonSetCase {
  readonly why: string;
  readonly policies: Readonly<Record<string, TolerationPolicySpec>>;
  /** As the request has it. */
  readonly daemonSet: CaseDaemonSet;
  /** Before an update. Undefined: the request creates the DaemonSet. */
  readonly before?: CaseDaemonSet;
  /** The tolerations that are appended. */
  readonly added: readonly Toleration[];
  /** What is still missing then: `POLICY missing TOLERATION`, or `POLICY audited TOLERATION`. */
  readonly reported: readonly string[];
}

/** One of DAEMON_SET_PLACES (test/unit/cel-rules/scenarios.ts). */
export interface CaseDaemonSet extends DaemonSetState {
  readonly namespace: string;
  readonly name: string;
  /** The API server makes the name, which begins so, after admission. */
  readonly generateName?: true;
}

export const MASTER = { key: OLD_ROLE, operator: 'Exists', effect: 'NoSchedule' } as const;
export const CONTROL_PLANE = { key: NEW_ROLE, operator: 'Exists', effect: 'NoSchedule' } as const;

/** The tolerations of Flannel's chart since flannel-io/flannel#1907: `control-plane`, but not `master`. */
export const FLANNEL_AFTER_PR_1907: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: NEW_ROLE, effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule', value: 'true' },
  { key: 'node-role.kubernetes.io/etcd', operator: 'Exists', effect: 'NoExecute' },
];

/** So many tolerations, each of a key of its own. */
export function manyTolerations(count: number): Toleration[] {
  return Array.from({ length: count }, (_, index) => ({ key: `example.com/${index}`, operator: 'Exists' }));
}

const CNI: CaseDaemonSet = {
  namespace: 'kube-system',
  name: 'cni',
  labels: { app: 'cni' },
  tolerations: [],
  image: 'a',
  hostNetwork: false,
};

const EVERYTHING = { operator: 'Exists' } as const;
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const DEDICATED = { key: 'dedicated', operator: 'Exists' } as const;
const OWN = { key: 'example.com/own', operator: 'Exists' } as const;
const EXTRA = { key: 'example.com/extra', operator: 'Exists' } as const;
const FOREVER = { key: 'maintenance', operator: 'Exists', effect: 'NoExecute' } as const;
const AT_ONCE = { ...FOREVER, tolerationSeconds: 0 } as const;

const NO_MASTER = `missing ${OLD_ROLE}:NoSchedule`;
const NO_CONTROL_PLANE = `missing ${NEW_ROLE}:NoSchedule`;
const CUT_SHORT = 'missing maintenance:NoExecute without tolerationSeconds';

const policy = (more: Partial<TolerationPolicySpec> = {}): TolerationPolicySpec => ({
  mode: 'Mutate',
  daemonSets: { namespaces: ['kube-system'] },
  ...more,
});
const requiring = (...tolerations: readonly PolicyToleration[]) => policy({ tolerations: [...tolerations] });
const auditing = (...tolerations: readonly PolicyToleration[]) => ({
  ...requiring(...tolerations),
  mode: 'Audit' as const,
});

interface Row {
  readonly why: string;
  readonly policies?: DaemonSetCase['policies'];
  /** In place of one policy `p`: the tolerations that it requires. */
  readonly required?: readonly PolicyToleration[];
  readonly daemonSet?: Partial<CaseDaemonSet>;
  /** The same for its tolerations. */
  readonly tolerations?: readonly Toleration[];
  /** What is different before an update. */
  readonly before?: Partial<CaseDaemonSet>;
  readonly added?: readonly Toleration[];
  readonly reported?: readonly string[];
}

function rows(what: string, usual: Omit<Row, 'why'>, all: readonly Row[]): DaemonSetCase[] {
  return all.map((row) => {
    const { why, policies, required, tolerations, before, added = [], reported = [], ...rest } = { ...usual, ...row };
    const sent = { ...CNI, ...usual.daemonSet, ...rest.daemonSet, ...(tolerations ? { tolerations } : {}) };
    return {
      why: `${what}: ${why}`,
      policies: policies ?? { p: required ? requiring(...required) : policy() },
      daemonSet: sent,
      ...(before ? { before: { ...sent, ...before } } : {}),
      added,
      reported,
    };
  });
}

export const DAEMON_SET_CASES: readonly DaemonSetCase[] = [
  ...rows('a new DaemonSet tolerates', { added: [MASTER, CONTROL_PLANE] }, [
    { why: 'nothing' },
    { why: 'master', tolerations: [MASTER], added: [CONTROL_PLANE] },
    { why: 'control-plane', tolerations: [CONTROL_PLANE], added: [MASTER] },
    {
      why: 'control-plane by Equal without a value, as Flannel after PR #1907',
      tolerations: FLANNEL_AFTER_PR_1907,
      added: [MASTER],
    },
    { why: 'control-plane with every effect', tolerations: [{ key: NEW_ROLE, operator: 'Exists' }], added: [MASTER] },
    {
      why: 'control-plane with a value that the taint does not have',
      tolerations: [{ key: NEW_ROLE, operator: 'Equal', value: 'true' }],
    },
    { why: 'control-plane with another effect', tolerations: [{ ...CONTROL_PLANE, effect: 'NoExecute' }] },
    { why: 'every taint', tolerations: [EVERYTHING], added: [] },
    { why: 'every taint, by an empty key', tolerations: [{ ...EVERYTHING, key: '' }], added: [] },
    { why: 'every NoSchedule taint', tolerations: [{ ...EVERYTHING, effect: 'NoSchedule' }], added: [] },
    { why: 'every NoExecute taint', tolerations: [{ ...EVERYTHING, effect: 'NoExecute' }] },
    {
      why: '60 other taints',
      tolerations: Array.from({ length: 60 }, (_, index) => ({ key: `example.com/${index}`, operator: 'Exists' })),
    },
  ]),
  ...rows('a required Exists', { required: [{ ...DEDICATED, effect: 'NoSchedule' }] }, [
    {
      why: 'is not the taint without a value alone',
      tolerations: [{ key: 'dedicated', effect: 'NoSchedule' }],
      added: [{ ...DEDICATED, effect: 'NoSchedule' }],
    },
    {
      why: 'of a role is: role taints have no value',
      required: [MASTER],
      tolerations: [{ key: OLD_ROLE, effect: 'NoSchedule' }],
    },
  ]),
  ...rows(
    'PreferNoSchedule keeps no daemon off a node',
    { required: [EVERYTHING, DEDICATED, { ...EVERYTHING, key: 'spot', effect: 'PreferNoSchedule' }] },
    [
      {
        why: 'calico-node and canal',
        tolerations: [
          { effect: 'NoSchedule', operator: 'Exists' },
          { key: 'CriticalAddonsOnly', operator: 'Exists' },
          { effect: 'NoExecute', operator: 'Exists' },
        ],
      },
      {
        why: 'kube-multus-ds',
        tolerations: [
          { operator: 'Exists', effect: 'NoSchedule' },
          { operator: 'Exists', effect: 'NoExecute' },
        ],
      },
      {
        why: 'NoSchedule does',
        tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
        added: [EVERYTHING],
      },
    ],
  ),
  ...rows(
    'the DaemonSet controller itself adds tolerations',
    {
      required: [
        { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
        { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' },
      ],
    },
    [
      {
        why: 'to every pod',
        added: [{ key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' }],
      },
      { why: 'and one more to pods with the host network', daemonSet: { hostNetwork: true } },
    ],
  ),
  ...rows('of two required tolerations, only the widest is added', {}, [
    { why: 'every value and effect', required: [GPU, DEDICATED], added: [DEDICATED] },
    {
      why: 'every value',
      required: [GPU, { ...DEDICATED, effect: 'NoSchedule' }],
      added: [{ ...DEDICATED, effect: 'NoSchedule' }],
    },
    {
      why: 'every effect',
      required: [GPU, { key: 'dedicated', value: 'gpu' }],
      added: [{ key: 'dedicated', value: 'gpu' }],
    },
    {
      why: 'every effect of any value',
      required: [{ ...DEDICATED, effect: 'NoExecute' }, DEDICATED],
      added: [DEDICATED],
    },
    { why: 'every key', required: [DEDICATED, EVERYTHING], added: [EVERYTHING] },
    {
      why: 'every key with an effect',
      required: [GPU, { ...EVERYTHING, effect: 'NoSchedule' }],
      added: [{ ...EVERYTHING, effect: 'NoSchedule' }],
    },
    {
      why: 'a longer time',
      required: [{ ...DEDICATED, effect: 'NoExecute', tolerationSeconds: 30 }, DEDICATED],
      added: [DEDICATED],
    },
    {
      why: 'the same role taint, spelled with Exists',
      required: [{ key: OLD_ROLE, effect: 'NoSchedule' }, MASTER],
      added: [MASTER],
    },
    {
      why: 'where the DaemonSet tolerates the other effect of the one value',
      required: [
        { key: 'dedicated', value: 'gpu' },
        { ...DEDICATED, effect: 'NoSchedule' },
      ],
      tolerations: [{ ...GPU, effect: 'NoExecute' }],
      added: [{ ...DEDICATED, effect: 'NoSchedule' }],
    },
    { why: 'in another policy', policies: { p: requiring(GPU), q: requiring(DEDICATED) }, added: [DEDICATED] },
    { why: 'the same in another policy', policies: { p: policy(), q: policy() }, added: [MASTER, CONTROL_PLANE] },
    {
      why: 'not in a policy for other DaemonSets',
      policies: { p: requiring(GPU), q: { ...requiring(DEDICATED), daemonSets: { namespaces: ['*'], names: ['ci'] } } },
      added: [GPU],
    },
  ]),
  ...rows('both required tolerations are added', {}, [
    { why: 'of two values', required: [GPU, { ...GPU, value: 'db' }], added: [GPU, { ...GPU, value: 'db' }] },
    {
      why: 'of two effects',
      required: [GPU, { ...GPU, effect: 'NoExecute' }],
      added: [GPU, { ...GPU, effect: 'NoExecute' }],
    },
    {
      why: 'every key with one effect, and one key with another effect',
      required: [
        { ...EVERYTHING, effect: 'NoSchedule' },
        { ...GPU, effect: 'NoExecute' },
      ],
      added: [
        { ...EVERYTHING, effect: 'NoSchedule' },
        { ...GPU, effect: 'NoExecute' },
      ],
    },
    {
      why: 'the longest first, so that none ends too early',
      required: [{ ...EVERYTHING, effect: 'NoExecute', tolerationSeconds: 300 }, FOREVER],
      added: [FOREVER, { ...EVERYTHING, effect: 'NoExecute', tolerationSeconds: 300 }],
    },
  ]),
  ...rows(
    'an update of a running DaemonSet',
    { daemonSet: { tolerations: [OWN] }, before: { tolerations: [OWN, MASTER, CONTROL_PLANE] } },
    [
      { why: 'restores what a manifest without it removes', added: [MASTER, CONTROL_PLANE] },
      {
        why: 'restores in the order in which it runs',
        before: { tolerations: [OWN, CONTROL_PLANE, MASTER] },
        added: [CONTROL_PLANE, MASTER],
      },
      {
        why: 'adds nothing more then: that would restart its pods',
        before: { tolerations: [OWN, CONTROL_PLANE] },
        added: [CONTROL_PLANE],
        reported: [`p ${NO_MASTER}`],
      },
      {
        why: 'adds all when the template changes otherwise',
        before: { tolerations: [OWN, CONTROL_PLANE], image: 'b' },
        added: [MASTER, CONTROL_PLANE],
      },
      {
        why: 'adds all when a field of the template is set',
        before: { tolerations: [OWN, CONTROL_PLANE], hostNetwork: true },
        added: [MASTER, CONTROL_PLANE],
      },
      {
        why: 'adds all when the tolerations change otherwise',
        tolerations: [OWN, EXTRA],
        before: { tolerations: [OWN, CONTROL_PLANE] },
        added: [MASTER, CONTROL_PLANE],
      },
      {
        why: 'adds all when it adds a toleration of its own',
        tolerations: [OWN, EXTRA],
        before: { tolerations: [OWN] },
        added: [MASTER, CONTROL_PLANE],
      },
      {
        why: 'adds all when it also removes a toleration of its own',
        before: { tolerations: [OWN, EXTRA, CONTROL_PLANE] },
        added: [MASTER, CONTROL_PLANE],
      },
      {
        why: 'restores a toleration as it was spelled: otherwise its pods would restart',
        required: [{ key: 'dedicated', effect: 'NoSchedule' }],
        before: { tolerations: [OWN, { key: 'dedicated', operator: 'Equal', effect: 'NoSchedule' }] },
        added: [{ key: 'dedicated', operator: 'Equal', effect: 'NoSchedule' }],
      },
      {
        why: 'restores also a needless toleration beside a needed one: otherwise its pods would restart',
        required: [{ key: OLD_ROLE, operator: 'Exists' }, MASTER, CONTROL_PLANE],
        before: { tolerations: [OWN, { ...MASTER, effect: '' }, MASTER, CONTROL_PLANE] },
        added: [{ ...MASTER, effect: '' }, MASTER, CONTROL_PLANE],
      },
      {
        why: 'does not restore a needless toleration: every user may remove it',
        tolerations: [EVERYTHING],
        before: { tolerations: [EVERYTHING, MASTER] },
      },
      {
        why: 'restores what an older policy added, although a newer one requires more',
        policies: { p: requiring({ key: OLD_ROLE, operator: 'Exists' }), q: requiring(MASTER) },
        before: { tolerations: [OWN, MASTER] },
        added: [MASTER],
        reported: [`p missing ${OLD_ROLE}`],
      },
      {
        why: 'of a label adds nothing',
        before: { labels: { app: 'other' } },
        reported: [`p ${NO_MASTER}`, `p ${NO_CONTROL_PLANE}`],
      },
      {
        why: 'of the spelling alone adds nothing',
        before: { tolerations: [{ ...OWN, effect: '' }] },
        reported: [`p ${NO_MASTER}`, `p ${NO_CONTROL_PLANE}`],
      },
    ],
  ),
  ...rows('tolerationSeconds are compared', { required: [FOREVER] }, [
    {
      why: 'the toleration ends at once, and an addition would not help',
      tolerations: [AT_ONCE],
      reported: [`p ${CUT_SHORT}`],
    },
    { why: 'the toleration without seconds comes first', tolerations: [FOREVER, AT_ONCE] },
    {
      why: 'the toleration without seconds comes last',
      tolerations: [AT_ONCE, FOREVER],
      reported: [`p ${CUT_SHORT}`],
    },
    { why: 'not of another key', tolerations: [{ ...AT_ONCE, key: 'a' }, FOREVER, { ...AT_ONCE, key: 'b' }] },
    {
      why: 'also where every effect is required',
      required: [{ key: FOREVER.key, operator: 'Exists' }],
      tolerations: [AT_ONCE, { key: FOREVER.key, operator: 'Exists' }],
      reported: [`p ${CUT_SHORT}`],
    },
    {
      why: 'also behind the toleration of one value',
      tolerations: [{ key: FOREVER.key, value: 'soon', effect: 'NoExecute' }, AT_ONCE],
      reported: [`p ${CUT_SHORT}`],
    },
    {
      why: 'also of the toleration of one value',
      tolerations: [{ ...AT_ONCE, operator: 'Equal' }, FOREVER],
      reported: [`p ${CUT_SHORT}`],
    },
    {
      why: 'also of the toleration of every key',
      tolerations: [{ ...EVERYTHING, effect: 'NoExecute', tolerationSeconds: 30 }],
      reported: [`p ${CUT_SHORT}`],
    },
    {
      why: 'longer than required',
      required: [{ ...FOREVER, tolerationSeconds: 30 }],
      tolerations: [FOREVER],
    },
    {
      why: 'shorter than required',
      required: [{ ...FOREVER, tolerationSeconds: 30 }],
      tolerations: [{ ...FOREVER, tolerationSeconds: 29 }],
      reported: ['p missing maintenance:NoExecute for 30 s'],
    },
    { why: 'less than 0 is 0', required: [AT_ONCE], tolerations: [{ ...FOREVER, tolerationSeconds: -1 }] },
    {
      why: 'not of a toleration that the DaemonSet controller replaces by one without seconds',
      required: [EVERYTHING],
      tolerations: [{ ...FOREVER, key: 'node.kubernetes.io/not-ready', tolerationSeconds: 300 }, EVERYTHING],
    },
    {
      why: 'with those of a policy in mode Audit that requires more than one in mode Mutate',
      policies: { p: requiring({ ...FOREVER, tolerationSeconds: 300 }), q: auditing(FOREVER) },
      added: [{ ...FOREVER, tolerationSeconds: 300 }],
      reported: ['q audited maintenance:NoExecute without tolerationSeconds'],
    },
  ]),
  ...rows(
    'a policy is for a DaemonSet',
    {
      policies: {
        p: {
          ...requiring(GPU),
          daemonSets: { namespaces: ['kube-*'], names: ['cn*', '*-agent*'], selector: { matchLabels: { app: 'cni' } } },
        },
      },
      added: [GPU],
    },
    [
      { why: 'whose namespace, name and labels match' },
      { why: 'whose name matches another pattern', daemonSet: { name: 'node-agent' } },
      { why: 'whose name is still to be made, by its beginning', daemonSet: { generateName: true } },
      {
        why: 'not one whose name will begin otherwise',
        daemonSet: { namespace: 'kube-public', name: 'csi', generateName: true },
        added: [],
      },
      { why: 'not in another namespace', daemonSet: { namespace: 'default', name: 'cni-x' }, added: [] },
      { why: 'not of another name', daemonSet: { namespace: 'kube-public', name: 'csi' }, added: [] },
      { why: 'not with other labels', daemonSet: { labels: { app: 'other' } }, added: [] },
      { why: 'not one that opts out', daemonSet: { ignore: 'true' }, added: [] },
      { why: 'not one that opts out without a value', daemonSet: { ignore: '' }, added: [] },
      { why: 'that opts in again', daemonSet: { ignore: 'false' } },
      { why: 'not one that is being deleted', daemonSet: { deleting: true }, added: [] },
      {
        why: 'whose label changes with its template, by the new one',
        before: { labels: { app: 'other' }, image: 'b' },
      },
      {
        why: 'whose label changes alone, which only is reported',
        before: { labels: { app: 'other' } },
        added: [],
        reported: ['p missing dedicated=gpu:NoSchedule'],
      },
    ],
  ),
  ...rows('a policy in mode Audit', { policies: { p: auditing(MASTER, CONTROL_PLANE) } }, [
    { why: 'reports, and adds nothing', tolerations: [MASTER], reported: [`p audited ${NEW_ROLE}:NoSchedule`] },
    { why: 'reports nothing that is tolerated', tolerations: [MASTER, CONTROL_PLANE] },
    {
      why: 'reports only the widest of two',
      policies: { p: auditing(GPU, DEDICATED) },
      reported: ['p audited dedicated'],
    },
    {
      why: 'reports nothing that another policy adds',
      policies: { p: auditing(MASTER, CONTROL_PLANE), q: policy() },
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'hides nothing that a policy in mode Mutate requires, however much wider it is',
      policies: { p: auditing(EVERYTHING), q: policy() },
      before: {},
      reported: [`q ${NO_MASTER}`, `q ${NO_CONTROL_PLANE}`, 'p audited *'],
    },
  ]),
];

/** Those that an API server takes as they are: it sets deletionTimestamp itself. */
export const SENT_DAEMON_SET_CASES: readonly DaemonSetCase[] = DAEMON_SET_CASES.filter(
  ({ daemonSet }) => !daemonSet.deleting,
);

/** What policies read of it. */
export function viewOf(daemonSet: CaseDaemonSet): DaemonSetView {
  const { namespace, name, generateName, labels, ignore, tolerations, hostNetwork, deleting = false } = daemonSet;
  return {
    namespace,
    name: generateName ? `${name}-` : name,
    labels,
    annotations: ignore === undefined ? {} : { [IGNORE_ANNOTATION]: ignore },
    tolerations,
    hostNetwork,
    deleting,
  };
}
