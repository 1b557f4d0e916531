import { jsonPointer } from './json-patch.ts';
import type { Taint } from './taint.ts';

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

/**
 * `key=value:Effect`, or `key:Effect` with `Exists`, with `*` for an empty key and nothing for an empty effect. Only equal tolerations have the same text,
 * except for their seconds: so `key=:Effect` tolerates the empty value alone.
 */
export function formatToleration({ key, operator, value, effect }: Toleration): string {
  const valueText = value || (key && operator !== 'Exists') ? `=${value ?? ''}` : '';
  const subject = `${key || '*'}${valueText}${effect ? `:${effect}` : ''}`;
  return operator && operator !== 'Exists' && operator !== 'Equal' ? `${subject} (${operator})` : subject;
}

/** For how many seconds a NoExecute taint is tolerated. */
export function secondsOf({ tolerationSeconds }: Toleration): number {
  return tolerationSeconds == null ? Number.POSITIVE_INFINITY : Math.max(0, tolerationSeconds);
}

/** How long a NoExecute taint is tolerated: `key:NoExecute for 300 s`, or `key:NoExecute without tolerationSeconds`. */
export function formatSeconds(toleration: Toleration): string {
  const { tolerationSeconds } = toleration;
  const text = formatToleration({ ...toleration, effect: 'NoExecute' });
  return tolerationSeconds == null ? `${text} without tolerationSeconds` : `${text} for ${tolerationSeconds} s`;
}
