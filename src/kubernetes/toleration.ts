import { NEW_ROLE, OLD_ROLE } from './roles.ts';
import { REPELLING_EFFECTS, type Taint } from './taint.ts';

/** A toleration as it stands in a pod template (core/v1). Unknown fields are carried along untouched. */
export interface Toleration {
  readonly key?: string | null | undefined;
  /** `Equal` when absent. */
  readonly operator?: string | null | undefined;
  readonly value?: string | null | undefined;
  /** Absent and empty match every effect. */
  readonly effect?: string | null | undefined;
  readonly tolerationSeconds?: number | null | undefined;
}

/**
 * Kubernetes' own rule, `Toleration.ToleratesTaint` of k8s.io/api/core/v1: an empty effect matches every effect, an
 * empty key (with `Exists`) every key, no operator means `Equal`.
 *
 * An operator that is neither `Exists` nor `Equal` (`Gt` and `Lt` of KEP-5471 among them) tolerates nothing here: see
 * {@link hasUnknownOperator}.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      // An empty key is valid with Exists only; the API server lets no other stand.
      return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}

/** True when the operator is one that {@link tolerates} does not know, so that its answer errs towards "no". */
export function hasUnknownOperator({ operator }: Toleration): boolean {
  return !['', 'Equal', 'Exists'].includes(operator ?? '');
}

/** As {@link tolerates}, erring towards "yes": an operator that is not known may tolerate any value. */
export function mayTolerate(toleration: Toleration, taint: Taint): boolean {
  return tolerates(hasUnknownOperator(toleration) ? { ...toleration, operator: 'Exists' } : toleration, taint);
}

/** True when both say the same, also where one leaves out what the other spells out. */
export function equalToleration(a: Toleration, b: Toleration): boolean {
  return (
    (a.key ?? '') === (b.key ?? '') &&
    (a.operator || 'Equal') === (b.operator || 'Equal') &&
    (a.value ?? '') === (b.value ?? '') &&
    (a.effect ?? '') === (b.effect ?? '') &&
    (a.tolerationSeconds ?? undefined) === (b.tolerationSeconds ?? undefined)
  );
}

/** `key=value:Effect (Equal)` or `key:Effect`, with `*` for an empty key and nothing for an empty effect. */
export function formatToleration({ key, operator, value, effect }: Toleration): string {
  const subject = `${key || '*'}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`;
  return operator && operator !== 'Exists' && operator !== 'Equal' ? `${subject} (${operator})` : subject;
}

/** How long a NoExecute taint is tolerated: `key:NoExecute for 300 s`, or `key:NoExecute without tolerationSeconds`. */
export function formatSeconds(toleration: Toleration): string {
  const { tolerationSeconds } = toleration;
  const text = formatToleration({ ...toleration, effect: 'NoExecute' });
  return tolerationSeconds == null ? `${text} without tolerationSeconds` : `${text} for ${tolerationSeconds} s`;
}

/** Taints of one effect, such as a toleration is written for. */
export interface TaintRange {
  /** Undefined: every key. */
  readonly key: string | undefined;
  /** Undefined: any value. The empty text: the taint without a value. */
  readonly value: string | undefined;
  readonly effect: (typeof REPELLING_EFFECTS)[number];
}

/** By convention, these taints have no value: `Exists` stands for the taint as it is, and so does `Equal` without a value. */
const WITHOUT_VALUE: readonly string[] = [OLD_ROLE, NEW_ROLE];

/** The taints that a toleration is written for and that can keep a daemon off a node: none for PreferNoSchedule. */
export function rangesOf({ key, operator, value, effect }: Toleration): TaintRange[] {
  const any = operator === 'Exists' && !(key && WITHOUT_VALUE.includes(key));
  return REPELLING_EFFECTS.filter((one) => !effect || one === effect).map((one) => ({
    key: key || undefined,
    value: any ? undefined : (value ?? ''),
    effect: one,
  }));
}

export function contains(range: TaintRange, other: TaintRange): boolean {
  return (
    range.effect === other.effect &&
    (range.key === undefined || range.key === other.key) &&
    (range.value === undefined || range.value === other.value)
  );
}

/**
 * True when a toleration tolerates every taint of the range, for however long. Several together tolerate no more of one range
 * than each by itself: all values, and all keys, are more than can be named.
 */
export function covers(toleration: Toleration, range: TaintRange): boolean {
  return (
    reaches(toleration, range) &&
    (!toleration.key || toleration.key === range.key) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === range.value)
  );
}

/** True when the toleration tolerates some taint of the range: {@link tolerates} for many. */
export function reaches({ key, operator, value, effect }: Toleration, range: TaintRange): boolean {
  if (effect && effect !== range.effect) return false;
  if (key && range.key !== undefined && key !== range.key) return false;
  if (operator === 'Exists') return true;
  const isEqual = !operator || operator === 'Equal';
  return isEqual && Boolean(key) && (range.value === undefined || range.value === (value ?? ''));
}

const tolerating = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });

const EVERY_DAEMON: readonly Toleration[] = [
  tolerating('node.kubernetes.io/not-ready', 'NoExecute'),
  tolerating('node.kubernetes.io/unreachable', 'NoExecute'),
  tolerating('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/unschedulable', 'NoSchedule'),
];

const HOST_NETWORK = tolerating('node.kubernetes.io/network-unavailable', 'NoSchedule');

/**
 * The tolerations that a DaemonSet's pods have: those of its template, and those that the DaemonSet controller gives to
 * each of its pods (`AddOrUpdateDaemonPodTolerations` in k8s.io/kubernetes/pkg/controller/daemon/util).
 *
 * A node that is not ready carries `not-ready` with NoSchedule as well, which is not among them.
 */
export function daemonTolerations(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  return [...tolerations, ...EVERY_DAEMON, ...(hostNetwork ? [HOST_NETWORK] : [])];
}

/**
 * The effects with which Kubernetes itself lets pods tolerate a key, whoever creates them: the DaemonSet controller, and for
 * tolerationSeconds the admission plugin DefaultTolerationSeconds, which has two of the same keys.
 */
export function givenEffects(key: string): string[] {
  return [...EVERY_DAEMON, HOST_NETWORK].flatMap((given) => (given.key === key && given.effect ? [given.effect] : []));
}

/** With `Exists` and NoExecute, the DaemonSet controller puts its own toleration in place of one of these, which has no seconds. */
export const OUTLASTING_KEYS: readonly string[] = EVERY_DAEMON.filter(({ effect }) => effect === 'NoExecute').map(
  ({ key }) => key ?? '',
);

/** True for a toleration whose `tolerationSeconds` do not count: see {@link OUTLASTING_KEYS}. */
export function outlastsItsSeconds({ key, operator }: Toleration): boolean {
  return operator === 'Exists' && OUTLASTING_KEYS.includes(key ?? '');
}

/** Which pods of DaemonSets tolerate all taints of the range, whatever their template says. */
export function alwaysTolerated(range: TaintRange): 'in every pod' | 'with the host network' | 'nowhere' {
  if (EVERY_DAEMON.some((toleration) => covers(toleration, range))) return 'in every pod';
  return covers(HOST_NETWORK, range) ? 'with the host network' : 'nowhere';
}
