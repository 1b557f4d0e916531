import { compileSelector, type LabelSelector, type StringMap } from '../kubernetes/label-selector.ts';
import { isPattern, matcherOfAny } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import {
  compileDaemonSetSelection,
  type DaemonSetSelection,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';
import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { needDaemonSets, partsOf, progressDeadlineMsOf, type ReadyParts, removeAfterMsOf } from './ready-when.ts';
import { type CompiledRecoveryPolicy, compileRecoveryPolicy, DEFAULT_RECOVERY_MODE } from './recovery-policy.ts';
import { type FailurePolicy, failurePolicyOf, TAINT_MODES, type TaintMode } from './taint-policy.ts';
import { type CompiledTaintRule, compileRules, type Ensure, isStartup } from './taint-rule.ts';
import { patchesExisting, TOLERATION_MODES, type TolerationMode, tolerationsOf } from './toleration-policy.ts';
import { type CompiledTolerationRestriction, compileTolerationRestriction } from './toleration-restriction.ts';

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

/** A toleration of a policy, with its field. */
export interface StatedToleration {
  readonly value: Toleration;
  /** For example `spec.tolerations[0]`. */
  readonly field: string;
}

/** A TolerationPolicy as it is enforced. */
export interface CompiledTolerationPolicy {
  readonly kind: 'TolerationPolicy';
  readonly name: string;
  readonly mode: TolerationMode;
  /** {@link mode} is also Audit if `audit` is set. */
  readonly declaredMode: TolerationMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly daemonSets: DaemonSetSelection;
  readonly tolerations: readonly StatedToleration[];
  /** Whether the leader changes DaemonSets that already run. Never with Audit. */
  readonly patchesExisting: boolean;
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** An immutable snapshot of all policies, ready to judge with. The strongest mode first, then by name. */
export interface PolicySet {
  readonly taintPolicies: readonly CompiledTaintPolicy[];
  readonly tolerationPolicies: readonly CompiledTolerationPolicy[];
  readonly tolerationRestrictions: readonly CompiledTolerationRestriction[];
  readonly recoveryPolicies: readonly CompiledRecoveryPolicy[];
}

/**
 * Compiles valid policies into a snapshot. With `audit`, every policy counts as mode Audit.
 * The names of policies of one kind must differ. The caller checks that.
 */
export function compilePolicies(policies: readonly Policy[], { audit = false } = {}): PolicySet {
  const effective = <Mode extends string>(mode: Mode): Mode | 'Audit' => (audit ? 'Audit' : mode);
  const startupKeys = startupKeysOf(policies);
  return {
    taintPolicies: policies
      .filter((policy) => policy.kind === 'TaintPolicy')
      .map((policy) => compileTaintPolicy(policy, { mode: effective(policy.spec.mode), startupKeys }))
      .sort(byStrength),
    tolerationPolicies: policies
      .filter((policy) => policy.kind === 'TolerationPolicy')
      .map((policy) => compileTolerationPolicy(policy, effective(policy.spec.mode)))
      .sort(byStrength),
    tolerationRestrictions: policies
      .filter((policy) => policy.kind === 'TolerationRestriction')
      .map((policy) => compileTolerationRestriction(policy, effective(policy.spec.mode)))
      .sort(byStrength),
    recoveryPolicies: policies
      .filter((policy) => policy.kind === 'RecoveryPolicy')
      .map((policy) => compileRecoveryPolicy(policy, effective(policy.spec.mode ?? DEFAULT_RECOVERY_MODE)))
      .sort(byStrength),
  };
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

/** @param mode the effective mode */
export function compileTolerationPolicy(
  { kind, name, spec }: TolerationPolicy,
  mode: TolerationMode = spec.mode,
): CompiledTolerationPolicy {
  return {
    kind,
    name,
    mode,
    declaredMode: spec.mode,
    rank: TOLERATION_MODES.indexOf(mode),
    daemonSets: spec.daemonSets,
    tolerations: tolerationsOf(spec).map((value, index) => ({ value, field: `spec.tolerations[${index}]` })),
    patchesExisting: patchesExisting(spec, mode),
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

/** Whether the policy does more than report. */
export function isEnforced({ mode }: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'mode'>): boolean {
  return mode !== 'Audit';
}

/** Whether the policy would do more than report without `audit`. */
export function isEnforcedWithoutAudit({
  declaredMode,
}: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'declaredMode'>): boolean {
  return declaredMode !== 'Audit';
}

/** Whether a startup taint of the policy waits for DaemonSets. */
export function waitsForDaemonSets({ untilReady }: Pick<CompiledTaintPolicy, 'untilReady'>): boolean {
  return untilReady.some(({ parts }) => needDaemonSets(parts));
}

/** Whether the policy only reports, and only because of `audit`. */
export function isOnTrial(
  policy: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'mode' | 'declaredMode'>,
): boolean {
  return !isEnforced(policy) && isEnforcedWithoutAudit(policy);
}

/** The policy with the mode, and the rank, that it has without `audit`. Its failure policy stays as it is. */
export function inDeclaredMode(policy: CompiledTaintPolicy): CompiledTaintPolicy {
  return { ...policy, mode: policy.declaredMode, rank: TAINT_MODES.indexOf(policy.declaredMode) };
}

type Ranked = Pick<CompiledTaintPolicy, 'rank' | 'name'>;

/** The strongest mode first, then by name. */
export function byStrength(a: Ranked, b: Ranked): number {
  return a.rank - b.rank || byName(a, b);
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
