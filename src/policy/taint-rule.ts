import type { Static } from 'typebox';
import * as Type from 'typebox';
import { cel } from '../cel/expression.ts';
import { matchesAny } from '../cel/pattern.ts';
import { DNS_SUBDOMAIN, DNS_SUBDOMAIN_LENGTH, isQualifiedName, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { compilePattern, isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey, NODE_STATE_TAINT_KEYS, TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import { OUT_OF_SERVICE_KEY } from '../kubernetes/well-known-taints.ts';
import type { Path, Problem } from './problem.ts';
import { checkReadyWhen, partsOfBoot, ReadyWhenSchema } from './ready-when.ts';
import {
  brokenConstraints,
  type CelRule,
  type Constraint,
  celIsQualifiedName,
  celValidations,
  EffectSchema,
  LabelValue,
  QUALIFIED_NAME_CONSTRAINTS,
  QualifiedName,
  QualifiedNamePattern,
} from './schema.ts';

/** All keys of one domain: `DOMAIN/*`. */
const DOMAIN_PATTERN = new RegExp(`^${DNS_SUBDOMAIN}/\\*$`);

/** Whether the key of a rule stands for all keys of its domain. */
function isDomainPattern(key: string): boolean {
  return DOMAIN_PATTERN.test(key) && key.indexOf('/') <= DNS_SUBDOMAIN_LENGTH;
}

const KEY_CONSTRAINTS: readonly Constraint<string>[] = [
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

/** When taintkeeper sets a taint. AtRegistration and UntilReady: in the request that creates the Node. */
const ENSURED = ['Always', 'AtRegistration', 'UntilReady'] as const;

/** Whether the rule is for a startup taint. Such a rule protects nothing: every user may remove the taint. */
export function isStartup(ensure: TaintRule['ensure']): boolean {
  return ensure === 'AtRegistration' || ensure === 'UntilReady';
}

/** The taints that Kubernetes itself sets and removes. */
const LIFE_CYCLE_KEYS = NODE_STATE_TAINT_KEYS.filter((key) => key !== OUT_OF_SERVICE_KEY);

const PARTS_OF_NO_BOOT = partsOfBoot('Unknown');
const PARTS_OF_A_BOOT = partsOfBoot('Present');

function asCode(name: string): string {
  return `\`${name}\``;
}

const RULE_CONSTRAINTS: readonly Constraint<ConstrainedRule>[] = [
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
  {
    holds: ({ afterReboot, readyWhen }) =>
      afterReboot !== 'SetAgain' || readyWhen === undefined || PARTS_OF_A_BOOT.some((part) => part in readyWhen),
    cel: `!has(self.afterReboot) || self.afterReboot != 'SetAgain' || !has(self.readyWhen) || ${PARTS_OF_A_BOOT.map((part) => `has(self.readyWhen.${part})`).join(' || ')}`,
    message: `afterReboot: SetAgain needs ${PARTS_OF_A_BOOT.map((part) => `readyWhen.${part}`).join(' or ')}`,
    field: 'afterReboot',
  },
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

const TRANSIENT = matchesAny(
  { value: cel(2)`self.key`, maxLength: QUALIFIED_NAME_LENGTH },
  TRANSIENT_TAINT_KEYS.filter(isPattern),
).text;

/** For the API server only. {@link checkRule} checks the same, and names the key. */
const NOT_IDLE: CelRule = {
  cel: `!self.key.contains('*') || !(${TRANSIENT})`,
  message:
    'protects nothing: DOMAIN/* never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
  field: 'key',
};

/** The maximum number of exceptions of a rule: the API server's CEL evaluates each of them. */
const MAX_EXCEPT = 32;

/** An item of `spec.taints` of a TaintPolicy. */
export const TaintRuleSchema = Type.Object(
  {
    key: QualifiedNamePattern(
      'Key of the taint, or `DOMAIN/*` for all keys of a domain. `DOMAIN/*` never covers a taint that Kubernetes or an agent sets and removes, such as ' +
        'node.kubernetes.io/not-ready or the startup taints of well-known agents and of policies. The keys of the life cycle of a node are not allowed, ' +
        'except node.kubernetes.io/out-of-service.',
      KEY_CONSTRAINTS,
    ),
    except: Type.Optional(
      Type.Array(QualifiedName('A key of the domain.'), {
        description:
          'With `DOMAIN/*`: keys that it leaves out, such as the taint that an operator sets while it prepares a node, and removes again.',
        minItems: 1,
        maxItems: MAX_EXCEPT,
      }),
    ),
    value: Type.Optional(LabelValue('Value of the taint. Without it, any value matches (and none is set).')),
    effect: Type.Optional(EffectSchema('Effect of the taint. Without it, any effect matches.')),
    ensure: Type.Optional(
      Type.Enum([...ENSURED], {
        description:
          'Whether taintkeeper sets the taint. Without it: never; the taint is protected where a node carries it. ' +
          'Always: the taint is protected, and every selected node gets it when it registers, when a change of its labels makes the policy select it, ' +
          'and in mode Deny or Restore whenever it is missing. With effect NoExecute a node gets it only when it registers, because it evicts pods: a ' +
          'missing one is reported. AtRegistration: every selected node gets the taint in the request that creates the ' +
          'Node, and never again. Every user may remove it. Cluster API calls this OnInitialization. ' +
          'UntilReady: the same, and taintkeeper removes the taint whenever the node carries it and `readyWhen` holds on the ' +
          'node. If the node registered without the taint, the leader sets it during the first ten minutes, while the node carries ' +
          'node.kubernetes.io/not-ready:NoSchedule and is not ready by `readyWhen`, also if a user has removed it. An entry of allow-removal keeps it ' +
          'off. `ensure` needs a key without `*`, and an effect.',
      }),
    ),
    readyWhen: Type.Optional(ReadyWhenSchema),
    // No default, because the API server would write it into every rule.
    afterReboot: Type.Optional(
      Type.Enum(['Ignore', 'SetAgain'], {
        description:
          'For ensure: UntilReady: what happens when the boot ID in the status of the Node changes. Without it, Ignore: nothing. SetAgain: the leader sets the ' +
          'taint again, and removes it when `readyWhen` holds, at the earliest 30 seconds later. In the meantime, the scheduler may bind pods to the node, ' +
          'and pods that were bound before the reboot start in any case. ' +
          `SetAgain needs ${PARTS_OF_A_BOOT.map(asCode).join(' or ')}, and is not allowed with ` +
          `${PARTS_OF_NO_BOOT.map(asCode).join(' or ')}: no field says from which boot these are. ` +
          'A Node without the annotation taintkeeper.dev/startup-boot gets the annotation only. Such nodes, and reboots that the leader did not see in its ' +
          'watch, are written at five a second. The taint is not set where another policy protects it, or an entry of allow-removal keeps it off. A user who removes ' +
          'it removes it for this boot. If the boot ID of a node changes more than three times in ten minutes, the leader pauses, with an Event TaintConflict.',
      }),
    ),
  },
  { additionalProperties: false, ...celValidations([...RULE_CONSTRAINTS, NOT_IDLE]) },
);

export type TaintRule = Static<typeof TaintRuleSchema>;

/** When taintkeeper sets the taint of a rule. */
export type Ensure = (typeof ENSURED)[number];

/**
 * The problems of a rule that its schema cannot express.
 * @param hasUnknownPart whether its `readyWhen` has a part that this version does not know
 */
export function checkRule(rule: TaintRule, path: Path, hasUnknownPart: boolean): Problem[] {
  return [
    ...brokenConstraints(KEY_CONSTRAINTS, rule.key, [...path, 'key']),
    ...(rule.except?.flatMap((key, number) =>
      brokenConstraints(QUALIFIED_NAME_CONSTRAINTS, key, [...path, 'except', number]),
    ) ?? []),
    ...brokenConstraints(RULE_CONSTRAINTS, rule, path),
    ...(rule.readyWhen ? checkReadyWhen(rule.readyWhen, [...path, 'readyWhen'], hasUnknownPart) : []),
    ...checkPattern(rule, [...path, 'key']),
  ];
}

/** The problem of a pattern that matches only transient taints, which no pattern covers. */
function checkPattern({ key }: TaintRule, path: Path): Problem[] {
  // The pattern is checked as if it were a key: if it is transient, so are all keys that it matches.
  if (!isPattern(key) || !isTransientTaintKey(key)) return [];
  return [{ path, message: `"${key}" ${NOT_IDLE.message}` }];
}

export interface CompiledTaintRule extends TaintRule {
  /** For example `spec.taints[0]`. */
  readonly field: string;
}

/** Finds the first rule that matches a taint. Rules with the exact key come before rules with its domain. */
export function compileRules(rules: readonly CompiledTaintRule[]): (taint: Taint) => CompiledTaintRule | undefined {
  const patterns = rules.filter(({ key }) => isPattern(key)).map((rule) => ({ rule, matches: compileKey(rule) }));
  const exact = Map.groupBy(
    rules.filter(({ key }) => !isPattern(key)),
    ({ key }) => key,
  );
  return (taint) =>
    exact.get(taint.key)?.find((rule) => matchesValueAndEffect(rule, taint)) ??
    patterns.find(({ rule, matches }) => matches(taint.key) && matchesValueAndEffect(rule, taint))?.rule;
}

/** A pattern never matches a key of the transient taints, nor one that its rule excepts. */
function compileKey({ key: pattern, except = [] }: TaintRule): (key: string) => boolean {
  const matches = compilePattern(pattern);
  const excepted = new Set(except);
  return (key) => matches(key) && !isTransientTaintKey(key) && !excepted.has(key);
}

function matchesValueAndEffect({ value, effect }: TaintRule, taint: Taint): boolean {
  return (effect === undefined || effect === taint.effect) && (value === undefined || value === (taint.value ?? ''));
}

/** Whether a text matches one of the patterns. */
export function matcherOfAny(patterns: readonly string[]): (text: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !isPattern(pattern)));
  const matchers = patterns.filter(isPattern).map(compilePattern);
  return (text) => exact.has(text) || matchers.some((matches) => matches(text));
}
