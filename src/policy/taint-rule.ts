import type { Static } from 'typebox';
import * as Type from 'typebox';
import { compilePattern, isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { brokenConstraints, celValidations } from './constraint.ts';
import {
  EffectSchema,
  LabelValue,
  QUALIFIED_NAME_CONSTRAINTS,
  QualifiedName,
  QualifiedNamePattern,
} from './field-schemas.ts';
import type { Path, Problem } from './problem.ts';
import { checkReadyWhen, ReadyWhenSchema } from './ready-when.ts';
import {
  KEY_CONSTRAINTS,
  NOT_IDLE,
  PARTS_OF_A_BOOT,
  PARTS_OF_NO_BOOT,
  RULE_CONSTRAINTS,
  RULE_CONSTRAINTS_WITH_UNKNOWN_PART,
} from './taint-rule-constraints.ts';

/** When taintkeeper sets a taint. AtRegistration and UntilReady: in the request that creates the Node. */
const ENSURED = ['Always', 'AtRegistration', 'UntilReady'] as const;

/** Whether the rule is for a startup taint. Such a rule protects nothing: every user may remove the taint. */
export function isStartup(ensure: TaintRule['ensure']): boolean {
  return ensure === 'AtRegistration' || ensure === 'UntilReady';
}

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

function asCode(name: string): string {
  return `\`${name}\``;
}

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
    ...brokenConstraints(hasUnknownPart ? RULE_CONSTRAINTS_WITH_UNKNOWN_PART : RULE_CONSTRAINTS, rule, path),
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
