import { compileSelector, type LabelSelector, type StringMap } from '../kubernetes/label-selector.ts';
import { isPattern, matcherOfAny } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { Policy, TaintPolicy } from './policy.ts';
import { needDaemonSets, partsOf, progressDeadlineMsOf, type ReadyParts, removeAfterMsOf } from './ready-when.ts';
import { type FailurePolicy, failurePolicyOf, TAINT_MODES, type TaintMode } from './taint-policy.ts';
import { type CompiledTaintRule, compileRules, type Ensure, isStartup } from './taint-rule.ts';

/** The requester: `userInfo` of an AdmissionReview. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
}

/** A TaintPolicy as it is enforced, with all defaults. */
export interface CompiledTaintPolicy {
  readonly kind: 'TaintPolicy';
  readonly name: string;
  readonly mode: TaintMode;
  /** {@link mode} is also Audit if `audit` is set. */
  readonly declaredMode: TaintMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly failurePolicy: FailurePolicy;
  /** The rules that protect taints: those without `ensure`, and with `ensure: Always`. */
  readonly protectionRules: readonly CompiledTaintRule[];
  /** Absent: every node. */
  readonly nodeSelector: LabelSelector | undefined;
  readonly exempt: { readonly users: readonly string[]; readonly groups: readonly string[] };
  /** Whether the allow-removal annotation allows removals in the declared mode. False for Audit, which allows all removals. */
  readonly allowsRemovalByAnnotation: boolean;
  /** The taints that a node gets when it registers, by all rules with `ensure`. The three lists below are parts of it. */
  readonly ensured: readonly EnsuredTaint[];
  /** The required taints: those of `Always`. */
  readonly required: readonly EnsuredTaint[];
  /** The startup taints, which a node need not keep: those of `AtRegistration` and `UntilReady`. */
  readonly startup: readonly EnsuredTaint[];
  /** The startup taints that the leader removes when `readyWhen` holds: those of `UntilReady`. */
  readonly untilReady: readonly UntilReadyTaint[];
  selectsNode(labels: StringMap): boolean;
  exempts(requester: Requester): boolean;
  /** Whether it exempts any user or group. */
  readonly exemptsUsers: boolean;
  /** The rule that protects the taint. Undefined if none does. */
  protectingRule(taint: Taint): CompiledTaintRule | undefined;
}

/** A taint of a rule with `ensure`: a required or a startup taint. */
export interface EnsuredTaint {
  /** In the form in which it is set. */
  readonly taint: Taint;
  /** True if the policy names no value, so that a node keeps its own value. */
  readonly anyValue: boolean;
  /** The rule, for example `spec.taints[0]`. */
  readonly field: string;
  readonly ensure: Ensure;
}

/** A taint of `ensure: UntilReady`. */
export interface UntilReadyTaint extends EnsuredTaint {
  readonly ensure: 'UntilReady';
  readonly parts: ReadyParts;
  /** Fields of the rule that this version does not know. */
  readonly unknownParts: readonly string[];
  readonly progressDeadlineMs: number;
  /** Undefined: the taint stays after the deadline. */
  readonly removeAfterMs: number | undefined;
  /** Whether the leader sets it again after a reboot of the node. */
  readonly setsAgain: boolean;
}

/**
 * The keys of the startup taints of all policies that set them. Users and agents remove these taints, so no pattern matches them. A policy in mode
 * Audit sets none, so it must not change what other policies protect.
 */
export function startupKeysOf(policies: readonly Policy[]): string[] {
  const rules = policies.flatMap((policy) =>
    policy.kind === 'TaintPolicy' && policy.spec.mode !== 'Audit' ? policy.spec.taints : [],
  );
  return [...new Set(rules.flatMap(({ key, ensure }) => (isStartup(ensure) ? key : [])))].sort();
}

interface Compilation {
  /** The effective mode. */
  readonly mode?: TaintMode;
  /** See {@link startupKeysOf}. */
  readonly startupKeys: readonly string[];
}

export function compileTaintPolicy(
  policy: TaintPolicy,
  { mode = policy.spec.mode, startupKeys }: Compilation,
): CompiledTaintPolicy {
  const { kind, name, spec, unknownParts = [] } = policy;
  const { users = [], groups = [] } = spec.exempt ?? {};
  const isExemptUser = matcherOfAny(users);
  const isExemptGroup = matcherOfAny(groups);
  const rules = spec.taints.map((rule, index): CompiledTaintRule => {
    const except = isPattern(rule.key) ? { except: [...(rule.except ?? []), ...startupKeys] } : {};
    return { ...rule, ...except, field: `spec.taints[${index}]` };
  });
  const ensured = rules.flatMap((rule, index) =>
    ensuredTaint(
      rule,
      unknownParts.filter((part) => part.rule === index).map((part) => part.field),
    ),
  );
  const protectionRules = rules.filter(({ ensure }) => !isStartup(ensure));
  return {
    kind,
    name,
    mode,
    declaredMode: spec.mode,
    rank: TAINT_MODES.indexOf(mode),
    failurePolicy: failurePolicyOf(spec, mode),
    protectionRules,
    nodeSelector: spec.nodeSelector,
    exempt: { users, groups },
    allowsRemovalByAnnotation: spec.removalByAnnotation !== 'Forbidden' && spec.mode !== 'Audit',
    ensured,
    required: ensured.filter(({ ensure }) => ensure === 'Always'),
    startup: ensured.filter(({ ensure }) => isStartup(ensure)),
    untilReady: ensured.filter((one): one is UntilReadyTaint => one.ensure === 'UntilReady'),
    selectsNode: compileSelector(spec.nodeSelector),
    exemptsUsers: users.length + groups.length > 0,
    exempts: (requester) => isExemptUser(requester.username) || requester.groups.some(isExemptGroup),
    protectingRule: compileRules(protectionRules),
  };
}

/** The taint of a rule with `ensure`. @param unknownParts see {@link UntilReadyTaint.unknownParts} */
function ensuredTaint(
  { key, value, effect, field, ensure, readyWhen, afterReboot }: CompiledTaintRule,
  unknownParts: readonly string[],
): (EnsuredTaint | UntilReadyTaint)[] {
  if (ensure === undefined || effect === undefined) return [];
  const common = { taint: { key, ...(value ? { value } : {}), effect }, anyValue: value === undefined, field };
  // A valid rule has readyWhen if, and only if, it has ensure: UntilReady.
  if (readyWhen === undefined) return [{ ...common, ensure }];
  const untilReady: UntilReadyTaint = {
    ...common,
    ensure: 'UntilReady',
    parts: partsOf(readyWhen),
    unknownParts,
    progressDeadlineMs: progressDeadlineMsOf(readyWhen),
    removeAfterMs: removeAfterMsOf(readyWhen),
    setsAgain: afterReboot === 'SetAgain',
  };
  return [untilReady];
}

/** The policy with the mode, and the rank, that it has without `audit`. Its failure policy stays as it is. */
export function inDeclaredMode(policy: CompiledTaintPolicy): CompiledTaintPolicy {
  return { ...policy, mode: policy.declaredMode, rank: TAINT_MODES.indexOf(policy.declaredMode) };
}

/** Whether a startup taint of the policy waits for DaemonSets. */
export function waitsForDaemonSets({ untilReady }: Pick<CompiledTaintPolicy, 'untilReady'>): boolean {
  return untilReady.some(({ parts }) => needDaemonSets(parts));
}
