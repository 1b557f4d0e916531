import { jsonPointer } from './json-patch.ts';
import { isLabelValue, isQualifiedName } from './names.ts';
import { ROLE_TAINT_KEYS } from './roles.ts';
import { REPELLING_EFFECTS, TAINT_EFFECTS, type Taint } from './taint.ts';
import {
  DISK_PRESSURE_KEY,
  MEMORY_PRESSURE_KEY,
  NETWORK_UNAVAILABLE_KEY,
  NOT_READY_KEY,
  PID_PRESSURE_KEY,
  UNREACHABLE_KEY,
  UNSCHEDULABLE_KEY,
} from './well-known-taints.ts';

/** The path of the tolerations in a DaemonSet, a Deployment or a StatefulSet. */
export const TOLERATIONS_PATH: readonly string[] = ['spec', 'template', 'spec', 'tolerations'];
/** The same as a JSON pointer. */
export const TOLERATIONS_POINTER = jsonPointer(...TOLERATIONS_PATH);

/** A toleration in a pod template (core/v1). Unknown fields are kept unchanged. */
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
      // An empty key is valid only with Exists. The API server refuses others.
      return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}

/** True if {@link tolerates} does not know the operator, and answers "no". */
export function hasUnknownOperator({ operator }: Toleration): boolean {
  return !['', 'Equal', 'Exists'].includes(operator ?? '');
}

/** As {@link tolerates}, but an unknown operator counts as tolerating every value. */
export function mayTolerate(toleration: Toleration, taint: Taint): boolean {
  return tolerates(hasUnknownOperator(toleration) ? { ...toleration, operator: 'Exists' } : toleration, taint);
}

/** Why the API server refuses a toleration. */
export interface TolerationFault {
  readonly field: 'key' | 'operator' | 'value' | 'effect';
  /** The problem, and what to write. */
  readonly message: string;
}

/** Operators that the API server accepts. Gt and Lt (KEP-5471) only with a feature gate. */
const OPERATORS = ['Equal', 'Exists', 'Gt', 'Lt'] as const;

/**
 * Everything for which the API server refuses the toleration, by `ValidateTolerations` of k8s.io/kubernetes/pkg/apis/core/validation (1.36). `Gt` and
 * `Lt` count as accepted, because only the cluster knows its feature gates.
 */
export function tolerationFaults(toleration: Toleration): TolerationFault[] {
  const { key, operator, effect, tolerationSeconds } = toleration;
  const faults: TolerationFault[] = [];
  if (key && !isQualifiedName(key)) faults.push({ field: 'key', message: `${quoted(key)} is no key of a taint` });
  const fault = operatorFault(toleration);
  if (fault) faults.push(fault);
  else if (!key && operator !== 'Exists')
    faults.push({ field: 'operator', message: 'without a key, operator must be Exists, which matches every taint' });
  const isKnown = !effect || TAINT_EFFECTS.some((one) => one === effect);
  if (!isKnown) faults.push({ field: 'effect', message: `${unknownName(effect, TAINT_EFFECTS)}: ${EFFECT_RULE}` });
  else if (tolerationSeconds != null && effect !== 'NoExecute')
    faults.push({ field: 'effect', message: 'tolerationSeconds needs effect NoExecute' });
  return faults;
}

function operatorFault(toleration: Toleration): TolerationFault | undefined {
  const operator = toleration.operator ?? '';
  const text = toleration.value ?? '';
  switch (operator) {
    case '':
    case 'Equal':
      return isLabelValue(text) ? undefined : { field: 'value', message: `${quoted(text)} is no value of a taint` };
    case 'Exists':
      if (text === '') return undefined;
      return { field: 'value', message: 'operator Exists takes no value: leave it out, or use Equal' };
    case 'Gt':
    case 'Lt':
      if (isInt64(text)) return undefined;
      return { field: 'value', message: `operator ${operator} takes a decimal integer, not ${quoted(text)}` };
    default:
      return {
        field: 'operator',
        message: `${unknownName(operator, OPERATORS)}: operator must be Equal or Exists (Gt and Lt depend on a feature gate)`,
      };
  }
}

const EFFECT_RULE = 'effect must be NoSchedule, PreferNoSchedule or NoExecute';

/** @param known the valid names. The message proposes the one that differs only in case and special characters */
function unknownName(found: string, known: readonly string[]): string {
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '');
  const meant = known.find((name) => letters(name) === letters(found));
  return `${quoted(found)} is not valid${meant ? `, write ${meant}` : ''}`;
}

/** The text in quotes, shortened. */
function quoted(text: string): string {
  const shown = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return JSON.stringify(shown);
}

const MAX_QUOTED = 80;

/** IsDecimalInteger of k8s.io/apimachinery/pkg/api/validate/content, within 64 bits. */
function isInt64(text: string): boolean {
  if (!/^(0|-?[1-9][0-9]{0,18})$/.test(text)) return false;
  return BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/** True if both have the same meaning, also if one leaves out a default. */
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

/** Taints of one effect that a toleration can match. */
export interface TaintRange {
  /** Undefined: every key. */
  readonly key: string | undefined;
  /** Undefined: any value. The empty text: the taint without a value. */
  readonly value: string | undefined;
  readonly effect: (typeof REPELLING_EFFECTS)[number];
}

/** By convention, these taints have no value, so `Exists` matches them, and so does `Equal` without a value. */
const WITHOUT_VALUE: readonly string[] = ROLE_TAINT_KEYS;

/** The taints that a toleration matches and that can keep a daemon off a node: none for PreferNoSchedule. */
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
 * True if a toleration tolerates every taint of the range, for any time. Several tolerations cover a range only if one of them covers it alone,
 * because the sets of all keys and values are infinite.
 */
export function covers(toleration: Toleration, range: TaintRange): boolean {
  return (
    reaches(toleration, range) &&
    (!toleration.key || toleration.key === range.key) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === range.value)
  );
}

/** True if the toleration tolerates some taint of the range: {@link tolerates} for many. */
export function reaches({ key, operator, value, effect }: Toleration, range: TaintRange): boolean {
  if (effect && effect !== range.effect) return false;
  if (key && range.key !== undefined && key !== range.key) return false;
  if (operator === 'Exists') return true;
  const isEqual = !operator || operator === 'Equal';
  return isEqual && Boolean(key) && (range.value === undefined || range.value === (value ?? ''));
}

const tolerating = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });

const EVERY_DAEMON: readonly Toleration[] = [
  tolerating(NOT_READY_KEY, 'NoExecute'),
  tolerating(UNREACHABLE_KEY, 'NoExecute'),
  tolerating(DISK_PRESSURE_KEY, 'NoSchedule'),
  tolerating(MEMORY_PRESSURE_KEY, 'NoSchedule'),
  tolerating(PID_PRESSURE_KEY, 'NoSchedule'),
  tolerating(UNSCHEDULABLE_KEY, 'NoSchedule'),
];

const HOST_NETWORK = tolerating(NETWORK_UNAVAILABLE_KEY, 'NoSchedule');

/**
 * The tolerations of a DaemonSet's pods: those of its template, and those that the DaemonSet controller adds to each of its pods
 * (`AddOrUpdateDaemonPodTolerations` in k8s.io/kubernetes/pkg/controller/daemon/util).
 *
 * A node that is not ready also carries `not-ready` with NoSchedule, which the controller does not add.
 */
export function daemonTolerations(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  return [...tolerations, ...EVERY_DAEMON, ...(hostNetwork ? [HOST_NETWORK] : [])];
}

/**
 * The effects of the tolerations of a key that Kubernetes itself adds to pods of all users. The DaemonSet controller adds them without
 * `tolerationSeconds`, the admission plugin DefaultTolerationSeconds adds those of two of these keys with `tolerationSeconds`.
 */
export function givenEffects(key: Toleration['key']): string[] {
  return [...EVERY_DAEMON, HOST_NETWORK].flatMap((given) => (given.key === key && given.effect ? [given.effect] : []));
}

/** For how many seconds a NoExecute taint is tolerated. */
export function secondsOf({ tolerationSeconds }: Toleration): number {
  return tolerationSeconds == null ? Number.POSITIVE_INFINITY : Math.max(0, tolerationSeconds);
}

/** The DaemonSet controller replaces a NoExecute toleration of these keys with `Exists` by its own one without `tolerationSeconds`. */
export const OUTLASTING_KEYS: readonly string[] = EVERY_DAEMON.filter(({ effect }) => effect === 'NoExecute').map(
  ({ key }) => key ?? '',
);

/** True for a toleration whose `tolerationSeconds` do not count: see {@link OUTLASTING_KEYS}. */
export function outlastsItsSeconds({ key, operator }: Toleration): boolean {
  return operator === 'Exists' && OUTLASTING_KEYS.includes(key ?? '');
}

/** Which pods of DaemonSets tolerate all taints of the range, with any template. */
export function alwaysTolerated(range: TaintRange): 'in every pod' | 'with the host network' | 'nowhere' {
  if (EVERY_DAEMON.some((toleration) => covers(toleration, range))) return 'in every pod';
  return covers(HOST_NETWORK, range) ? 'with the host network' : 'nowhere';
}
