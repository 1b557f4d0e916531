import { cel } from '../cel/expression.ts';
import { matchesAny } from '../cel/pattern.ts';
import { DNS_SUBDOMAIN, DNS_SUBDOMAIN_LENGTH, isQualifiedName, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { NODE_STATE_TAINT_KEYS, TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import { OUT_OF_SERVICE_KEY } from '../kubernetes/well-known-taints.ts';
import type { CelRule, Constraint } from './constraint.ts';
import { celIsQualifiedName } from './field-schemas.ts';
import { partsOfBoot } from './ready-when.ts';

/** All keys of one domain: `DOMAIN/*`. */
const DOMAIN_PATTERN = new RegExp(`^${DNS_SUBDOMAIN}/\\*$`);

/** Whether the key of a rule stands for all keys of its domain. */
function isDomainPattern(key: string): boolean {
  return DOMAIN_PATTERN.test(key) && key.indexOf('/') <= DNS_SUBDOMAIN_LENGTH;
}

export const KEY_CONSTRAINTS: readonly Constraint<string>[] = [
  {
    holds: (key) => !/^\*+$/.test(key),
    cel: String.raw`!self.matches(r'^\*+$')`,
    message:
      'a key "*" is not allowed: it would keep the taints by which unknown agents mark a node that starts, so that new nodes stay unusable; name each key, or a domain as DOMAIN/*',
  },
  {
    holds: (key) => /^\*+$/.test(key) || isQualifiedName(key) || isDomainPattern(key),
    cel: `self.matches(r'^\\*+$') || ${celIsQualifiedName('self')} || (self.matches(r'^${DNS_SUBDOMAIN}/\\*$') && self.indexOf('/') <= ${DNS_SUBDOMAIN_LENGTH})`,
    message: 'expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain',
  },
];

/** The fields that constraints of rules read. */
export interface ConstrainedRule {
  readonly key: string;
  readonly effect?: string;
  readonly ensure?: string;
  readonly except?: readonly string[];
  readonly readyWhen?: object;
  readonly afterReboot?: string;
}

/** The taints that Kubernetes itself sets and removes. */
const LIFE_CYCLE_KEYS = NODE_STATE_TAINT_KEYS.filter((key) => key !== OUT_OF_SERVICE_KEY);

export const PARTS_OF_NO_BOOT = partsOfBoot('Unknown');
export const PARTS_OF_A_BOOT = partsOfBoot('Present');

const NEEDS_PART_OF_A_BOOT: Constraint<ConstrainedRule> = {
  holds: ({ afterReboot, readyWhen }) =>
    afterReboot !== 'SetAgain' || readyWhen === undefined || PARTS_OF_A_BOOT.some((part) => part in readyWhen),
  cel: `!has(self.afterReboot) || self.afterReboot != 'SetAgain' || !has(self.readyWhen) || ${PARTS_OF_A_BOOT.map((part) => `has(self.readyWhen.${part})`).join(' || ')}`,
  message: `afterReboot: SetAgain needs ${PARTS_OF_A_BOOT.map((part) => `readyWhen.${part}`).join(' or ')}`,
  field: 'afterReboot',
};

export const RULE_CONSTRAINTS: readonly Constraint<ConstrainedRule>[] = [
  {
    holds: ({ key, ensure }) => ensure === undefined || !isPattern(key),
    cel: "!has(self.ensure) || !self.key.contains('*')",
    message: 'ensure needs a key without "*", because taintkeeper sets the taint',
    field: 'key',
  },
  {
    holds: ({ key }) => !LIFE_CYCLE_KEYS.includes(key),
    cel: `!(self.key in [${LIFE_CYCLE_KEYS.map((key) => `'${key}'`).join(', ')}])`,
    message:
      'Kubernetes sets and removes this taint during the life of a node, so a policy must not keep it: kubectl uncordon, for example, would never work',
    field: 'key',
  },
  {
    holds: ({ key, ensure }) => ensure === undefined || key !== OUT_OF_SERVICE_KEY,
    cel: `!has(self.ensure) || self.key != '${OUT_OF_SERVICE_KEY}'`,
    message: 'ensure is not allowed for this taint: Kubernetes deletes the pods of a node that carries it by force',
    field: 'ensure',
  },
  {
    holds: ({ effect, ensure }) => ensure === undefined || effect !== undefined,
    cel: '!has(self.ensure) || has(self.effect)',
    message: 'ensure needs an effect: add NoSchedule, PreferNoSchedule or NoExecute',
  },
  {
    holds: ({ ensure, effect }) => ensure !== 'UntilReady' || effect === undefined || effect === 'NoSchedule',
    cel: "!has(self.ensure) || self.ensure != 'UntilReady' || !has(self.effect) || self.effect == 'NoSchedule'",
    message: 'ensure: UntilReady is only for effect NoSchedule',
    field: 'effect',
  },
  {
    holds: ({ ensure, readyWhen }) => (ensure === 'UntilReady') === (readyWhen !== undefined),
    cel: "has(self.readyWhen) == (has(self.ensure) && self.ensure == 'UntilReady')",
    message: 'ensure: UntilReady needs readyWhen, and no other rule has it',
    field: 'readyWhen',
  },
  {
    holds: ({ ensure, afterReboot }) => afterReboot === undefined || ensure === 'UntilReady',
    cel: "!has(self.afterReboot) || (has(self.ensure) && self.ensure == 'UntilReady')",
    message: 'afterReboot is only for ensure: UntilReady',
    field: 'afterReboot',
  },
  {
    holds: ({ afterReboot, readyWhen = {} }) =>
      afterReboot !== 'SetAgain' || PARTS_OF_NO_BOOT.every((part) => !(part in readyWhen)),
    cel: `!has(self.afterReboot) || self.afterReboot != 'SetAgain' || !has(self.readyWhen) || !(${PARTS_OF_NO_BOOT.map((part) => `has(self.readyWhen.${part})`).join(' || ')})`,
    message: `afterReboot: SetAgain is not allowed with ${PARTS_OF_NO_BOOT.map((part) => `readyWhen.${part}`).join(' or ')}: after a reboot, these are those of the earlier boot, and no field says so`,
    field: 'afterReboot',
  },
  NEEDS_PART_OF_A_BOOT,
  {
    holds: ({ key, except = [] }) =>
      isPattern(key) ? except.every((one) => one.startsWith(key.slice(0, -1))) : except.length === 0,
    cel:
      "!has(self.except) || (self.key.endsWith('/*') && " +
      'self.except.all(e, e.startsWith(self.key.substring(0, self.key.size() - 1))))',
    message: 'except is only for a key DOMAIN/*, and lists keys of that domain',
    field: 'except',
  },
];

/** For a rule whose `readyWhen` has a part that this version does not know. The part may say when the node booted. */
export const RULE_CONSTRAINTS_WITH_UNKNOWN_PART = RULE_CONSTRAINTS.filter((one) => one !== NEEDS_PART_OF_A_BOOT);

const TRANSIENT = matchesAny(
  { value: cel(2)`self.key`, maxLength: QUALIFIED_NAME_LENGTH },
  TRANSIENT_TAINT_KEYS.filter(isPattern),
).text;

/** For the API server only. {@link checkRule} checks the same, and names the key. */
export const NOT_IDLE: CelRule = {
  cel: `!self.key.contains('*') || !(${TRANSIENT})`,
  message:
    'protects nothing: DOMAIN/* never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
  field: 'key',
};
