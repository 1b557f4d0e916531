import { isLabelValue, isQualifiedName } from './names.ts';
import { TAINT_EFFECTS } from './taint.ts';
import type { Toleration } from './toleration.ts';

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
