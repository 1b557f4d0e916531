import { cel } from '../cel/expression.ts';
import { matchesAny } from '../cel/pattern.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { isQualifiedName, QUALIFIED_NAME_LENGTH } from '../kubernetes/qualified-name.ts';
import { TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import { type CelRule, type Constraint, celIsQualifiedName } from './schema.ts';

/*
 * What the types of a TaintPolicy's fields do not say, for the program and for the API server.
 */

export const KEY_CONSTRAINTS: readonly Constraint<string>[] = [
  {
    holds: (key) => isPattern(key) || isQualifiedName(key),
    cel: `self.contains('*') || ${celIsQualifiedName('self')}`,
    message: 'expected a taint key, NAME or DOMAIN/NAME',
  },
];

interface ConstrainedRule {
  readonly key: string;
  readonly effect?: string;
  readonly ensure?: string;
  readonly mayEvict?: boolean;
  readonly except?: readonly string[];
}

export const RULE_CONSTRAINTS: readonly Constraint<ConstrainedRule>[] = [
  {
    holds: ({ key, ensure }) => ensure !== 'Present' || !isPattern(key),
    cel: "!has(self.ensure) || self.ensure != 'Present' || !self.key.contains('*')",
    message: 'a Present taint needs a key without "*", because taintkeeper sets it',
    field: 'key',
  },
  {
    holds: ({ effect, ensure }) => ensure !== 'Present' || effect !== undefined,
    cel: "!has(self.ensure) || self.ensure != 'Present' || has(self.effect)",
    message: 'a Present taint needs an effect: add NoSchedule, PreferNoSchedule or NoExecute',
  },
  {
    holds: ({ effect, ensure, mayEvict }) => mayEvict === undefined || (ensure === 'Present' && effect === 'NoExecute'),
    cel: "!has(self.mayEvict) || (has(self.ensure) && self.ensure == 'Present' && has(self.effect) && self.effect == 'NoExecute')",
    message: 'mayEvict is only for a Present taint with effect NoExecute: leave it out',
    field: 'mayEvict',
  },
  {
    holds: ({ key, except }) => except === undefined || isPattern(key),
    cel: "!has(self.except) || self.key.contains('*')",
    message: 'except is only for a key with "*": leave it out',
    field: 'except',
  },
];

const TRANSIENT = matchesAny(
  { value: cel(1)`self.key`, maxLength: QUALIFIED_NAME_LENGTH },
  TRANSIENT_TAINT_KEYS.filter(isPattern),
).text;

/** For the API server alone; the program says the same by `checkPattern` of taint-policy.ts, with the key. */
export const NOT_IDLE: CelRule = {
  cel: `!self.key.contains('*') || (has(self.ensure) && self.ensure == 'Present') || !(${TRANSIENT})`,
  message: 'protects nothing: a pattern never covers taints that come and go by themselves, so name an exact key',
  field: 'key',
};
interface ConstrainedSpec {
  readonly mode: string;
  readonly failurePolicy?: string;
  readonly settleSeconds?: number;
  readonly taints: readonly { readonly key: string }[];
}

export const SPEC_CONSTRAINTS: readonly Constraint<ConstrainedSpec>[] = [
  {
    holds: ({ mode, failurePolicy }) => mode !== 'Audit' || failurePolicy !== 'Fail',
    cel: "self.mode != 'Audit' || !has(self.failurePolicy) || self.failurePolicy != 'Fail'",
    message: 'an Audit policy refuses nothing: leave failurePolicy out',
    field: 'failurePolicy',
  },
  {
    holds: ({ settleSeconds, taints }) => settleSeconds === undefined || taints.some(({ key }) => isPattern(key)),
    cel: "!has(self.settleSeconds) || self.taints.exists(t, t.key.contains('*'))",
    message: 'settleSeconds is only for keys with "*": leave it out',
    field: 'settleSeconds',
  },
];

/** For the API server alone; the program says the same by `checkContradiction` of taint-policy.ts, with the other rule. */
export const NO_CONTRADICTION: CelRule = {
  cel:
    "self.taints.all(a, !has(a.ensure) || a.ensure != 'Present' || !has(a.value) || " +
    "self.taints.all(b, !has(b.ensure) || b.ensure != 'Present' || !has(b.value) || b.key != a.key || " +
    'has(a.effect) != has(b.effect) || (has(a.effect) && a.effect != b.effect) || a.value == b.value))',
  message: 'two Present taints with the same key and effect cannot have different values',
  field: 'taints',
};
