import { compileSelector, type LabelSelector, type StringMap } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import {
  compileDaemonSetSelection,
  type DaemonSetSelection,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';
import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { partsOf, progressDeadlineMsOf, type ReadyParts, removeAfterMsOf } from './ready-when.ts';
import { type CompiledRecoveryPolicy, compileRecoveryPolicy, DEFAULT_RECOVERY_MODE } from './recovery-policy.ts';
import { type FailurePolicy, failurePolicyOf, TAINT_MODES, type TaintMode } from './taint-policy.ts';
import { type CompiledTaintRule, compileRules, isStartup, matcherOfAny } from './taint-rule.ts';
import { TOLERATION_MODES, type TolerationMode, tolerationsOf } from './toleration-policy.ts';
import { type CompiledTolerationRestriction, compileTolerationRestriction } from './toleration-restriction.ts';

/** The requester: `userInfo` of an AdmissionReview. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
}

/** A part of a policy, with its field. */
export interface Stated<T> {
  readonly value: T;
  /** For example `spec.taints[0]`. */
  readonly field: string;
}

/** A TaintPolicy as it is enforced, with all defaults. */
export interface CompiledTaintPolicy {
  readonly kind: 'TaintPolicy';
  readonly name: string;
  readonly mode: TaintMode;
  /** The declared mode. {@link mode} is also Audit if `audit` is set. */
  readonly declared: TaintMode;
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
  /** The required taints, in the form in which they are set. */
  readonly required: readonly Stated<EnsuredTaint>[];
  /** The taints that a node gets when it registers, and need not keep. */
  readonly startup: readonly Stated<EnsuredTaint>[];
  /** The startup taints that the leader removes when `readyWhen` holds. */
  readonly untilReady: readonly Stated<UntilReadyTaint>[];
  /** The taints that a node gets when it registers: the required ones and startup taints, by all rules with `ensure`. */
  readonly ensured: readonly Stated<EnsuredTaint>[];
  selectsNode(labels: StringMap): boolean;
  exempts(requester: Requester): boolean;
  /** Whether it exempts any user or group. */
  readonly exemptsUsers: boolean;
  /** The field that protects the taint, for example `spec.taints[0]`. Undefined if none does. */
  protectedBy(taint: Taint): string | undefined;
}

/** A taint of a rule with `ensure`: a required or a startup taint. */
export interface EnsuredTaint {
  readonly taint: Taint;
  /** True if the policy names no value, so that a node keeps its own value. */
  readonly anyValue: boolean;
}

/** A taint of `ensure: UntilReady`. */
export interface UntilReadyTaint {
  readonly taint: Taint;
  /** True if the policy names no value. */
  readonly anyValue: boolean;
  readonly parts: ReadyParts;
  /** Fields of the rule that this version does not know. */
  readonly unknownParts: readonly string[];
  readonly progressDeadlineMs: number;
  /** Undefined: the taint stays after the deadline. */
  readonly removeAfterMs: number | undefined;
  /** Whether the leader sets it again after a reboot of the node. */
  readonly setsAgain: boolean;
}

/** A TolerationPolicy as it is enforced. */
export interface CompiledTolerationPolicy {
  readonly kind: 'TolerationPolicy';
  readonly name: string;
  readonly mode: TolerationMode;
  /** The declared mode. {@link mode} is also Audit if `audit` is set. */
  readonly declared: TolerationMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly daemonSets: DaemonSetSelection;
  readonly tolerations: readonly Stated<Toleration>[];
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
  const declared = spec.taints.map((rule, index): CompiledTaintRule => ({ ...rule, field: `spec.taints[${index}]` }));
  const stated = declared.map(
    (rule): CompiledTaintRule =>
      isPattern(rule.key) ? { ...rule, except: [...(rule.except ?? []), ...startupKeys] } : rule,
  );
  const protectionRules = stated.filter(({ ensure }) => !isStartup(ensure));
  const protectingRule = compileRules(protectionRules);
  return {
    kind,
    name,
    mode,
    declared: spec.mode,
    rank: TAINT_MODES.indexOf(mode),
    failurePolicy: failurePolicyOf(spec, mode),
    protectionRules,
    nodeSelector: spec.nodeSelector,
    exempt: { users, groups },
    allowsRemovalByAnnotation: spec.removalByAnnotation !== 'Forbidden' && spec.mode !== 'Audit',
    required: ensuredTaints(stated.filter(({ ensure }) => ensure === 'Always')),
    startup: ensuredTaints(stated.filter(({ ensure }) => isStartup(ensure))),
    untilReady: stated.flatMap((rule, index) => {
      const { readyWhen, field } = rule;
      if (readyWhen === undefined) return [];
      const common = {
        parts: partsOf(readyWhen),
        unknownParts: unknownParts.filter((part) => part.rule === index).map((part) => part.field),
        progressDeadlineMs: progressDeadlineMsOf(readyWhen),
        removeAfterMs: removeAfterMsOf(readyWhen),
        setsAgain: rule.afterReboot === 'SetAgain',
      };
      return ensuredTaints([rule]).map(({ value: { taint, anyValue } }) => ({
        value: { taint, anyValue, ...common },
        field,
      }));
    }),
    ensured: ensuredTaints(stated.filter(({ ensure }) => ensure !== undefined)),
    selectsNode: compileSelector(spec.nodeSelector),
    exemptsUsers: users.length + groups.length > 0,
    exempts: (requester) => isExemptUser(requester.username) || requester.groups.some(isExemptGroup),
    protectedBy: (taint) => protectingRule(taint)?.field,
  };
}

function ensuredTaints(rules: readonly CompiledTaintRule[]): Stated<EnsuredTaint>[] {
  return rules.flatMap(({ key, value, effect, field }) => {
    if (effect === undefined) return [];
    const taint = { key, ...(value ? { value } : {}), effect };
    return [{ value: { taint, anyValue: value === undefined }, field }];
  });
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
    declared: spec.mode,
    rank: TOLERATION_MODES.indexOf(mode),
    daemonSets: spec.daemonSets,
    tolerations: tolerationsOf(spec).map((value, index) => ({ value, field: `spec.tolerations[${index}]` })),
    patchesExisting: mode === 'Mutate' && spec.existing === 'Patch',
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

type Ranked = Pick<CompiledTaintPolicy, 'rank' | 'name'>;

/** The strongest mode first, then by name. */
export function byStrength(a: Ranked, b: Ranked): number {
  return a.rank - b.rank || byName(a, b);
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
