import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import {
  compileDaemonSetSelection,
  type DaemonSetSelection,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';
import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { type CompiledRecoveryPolicy, compileRecoveryPolicy } from './recovery-policy.ts';
import {
  type FailurePolicy,
  failurePolicyOf,
  TAINT_MODES,
  type TaintMode,
  waitsForEstablishment,
} from './taint-policy.ts';
import {
  type CompiledTaintRule,
  compileRules,
  isStartup,
  matcherOfAny,
  progressDeadlineMsOf,
  type ReadyDaemonSet,
  restricts,
} from './taint-rule.ts';
import { TOLERATION_MODES, type TolerationMode, tolerationsOf } from './toleration-policy.ts';
import { type CompiledTolerationRestriction, compileTolerationRestriction } from './toleration-restriction.ts';

/** Who makes a request: `userInfo` of an AdmissionReview. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
}

/** A part of a policy, with the field that states it. */
export interface Stated<T> {
  readonly value: T;
  /** For example `spec.taints[0]`. */
  readonly field: string;
}

/** A TaintPolicy as it is in force: what its spec leaves out is filled in. */
export interface CompiledTaintPolicy {
  readonly kind: 'TaintPolicy';
  readonly name: string;
  readonly mode: TaintMode;
  /** The mode that it declares: {@link mode} is Audit besides where `audit` makes it so. */
  readonly declared: TaintMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly failurePolicy: FailurePolicy;
  /**
   * What the policy would do by a field of it, where only `audit` makes its mode Audit; Audit where it would do nothing, and where
   * that cannot be told: a key with a wildcard waits, and with `audit` nobody measures how long.
   */
  trial(field: string): TaintMode;
  /** Those that restrict removal. */
  readonly rules: readonly CompiledTaintRule[];
  /** Those that restrict addition; none of them waits. */
  readonly additionRules: readonly CompiledTaintRule[];
  /** Those that restrict unselection; none of them waits. */
  readonly unselectionRules: readonly CompiledTaintRule[];
  /** Absent: every node. */
  readonly nodeSelector: LabelSelector | undefined;
  readonly exempt: { readonly users: readonly string[]; readonly groups: readonly string[] };
  /** Whether the allow-removal annotation lets taints go. Never with Audit, which lets everything go and changes nothing. */
  readonly removableByAnnotation: boolean;
  /** Whether it would let them go, where only `audit` makes its mode Audit. */
  readonly wouldAllowByAnnotation: boolean;
  /** The required taints, as they are set on a node where they are missing. */
  readonly required: readonly Stated<RequiredTaint>[];
  /** The taints that a node gets when it registers: the required ones, and startup taints. */
  readonly atRegistration: readonly Stated<RequiredTaint>[];
  /** Those among them that the leader removes when DaemonSets are ready. */
  readonly untilReady: readonly Stated<StartupTaint>[];
  selectsNode(labels: StringMap): boolean;
  exempts(requester: Requester): boolean;
  /** Whether there is anybody whom it exempts. */
  readonly exemptsAnybody: boolean;
  /** Whether it has taints established by a key with a wildcard, also with --audit. */
  readonly establishes: boolean;
  /** The field that protects the taint, or undefined where none does; one with a wildcard, once the taint is established. */
  protectedBy(taint: Taint): string | undefined;
  /** The same on a node on which these taints are established. */
  heldBy(taint: Taint, isSettled: (taint: Taint) => boolean): string | undefined;
  /** The field that restricts the addition of the taint, or undefined where none does. Here no key waits to settle. */
  additionRestrictedBy(taint: Taint): string | undefined;
  /** The field that restricts the unselection of a node with the taint, or undefined where none does. */
  unselectionRestrictedBy(taint: Taint): string | undefined;
  /** For how long after its deletion a node that registers again gets its taints back; undefined where it does not. */
  readonly deletedNodeRetentionMs: number | undefined;
}

export interface RequiredTaint {
  readonly taint: Taint;
  /** True when the policy names no value, so that a node's own value is left alone. */
  readonly anyValue: boolean;
  /** Whether a node that runs gets it though that evicts pods. */
  readonly mayEvict: boolean;
}

/** A taint of `ensure: UntilReady`. */
export interface StartupTaint {
  readonly taint: Taint;
  readonly daemonSets: readonly ReadyDaemonSet[];
  readonly progressDeadlineMs: number;
}

/** A TolerationPolicy as it is in force. */
export interface CompiledTolerationPolicy {
  readonly kind: 'TolerationPolicy';
  readonly name: string;
  readonly mode: TolerationMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly daemonSets: DaemonSetSelection;
  readonly tolerations: readonly Stated<Toleration>[];
  /** Whether DaemonSets that already run are changed. Never with Audit. */
  readonly patchesExisting: boolean;
  /** Whether only `audit` makes its mode Audit. */
  readonly isTrial: boolean;
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** An immutable snapshot of all policies, ready to judge with; the strongest mode first, then by name. */
export interface PolicySet {
  readonly taintPolicies: readonly CompiledTaintPolicy[];
  readonly tolerationPolicies: readonly CompiledTolerationPolicy[];
  readonly tolerationRestrictions: readonly CompiledTolerationRestriction[];
  readonly recoveryPolicies: readonly CompiledRecoveryPolicy[];
}

/**
 * Compiles valid policies into a snapshot. With `audit`, every policy is taken to be in mode Audit.
 * The names of policies of one kind must differ: that is for the reader of the policies to see to.
 */
export function compilePolicies(policies: readonly Policy[], { audit = false } = {}): PolicySet {
  const modeOf = <Mode extends string>(mode: Mode): Mode | 'Audit' => (audit ? 'Audit' : mode);
  const startupKeys = startupKeysOf(policies);
  return {
    taintPolicies: policies
      .filter((policy) => policy.kind === 'TaintPolicy')
      .map((policy) => compileTaintPolicy(policy, { mode: modeOf(policy.spec.mode), startupKeys }))
      .sort(byStrength),
    tolerationPolicies: policies
      .filter((policy) => policy.kind === 'TolerationPolicy')
      .map((policy) => compileTolerationPolicy(policy, modeOf(policy.spec.mode)))
      .sort(byStrength),
    tolerationRestrictions: policies
      .filter((policy) => policy.kind === 'TolerationRestriction')
      .map((policy) => compileTolerationRestriction(policy, modeOf(policy.spec.mode)))
      .sort(byStrength),
    recoveryPolicies: policies
      .filter((policy) => policy.kind === 'RecoveryPolicy')
      .map(({ name, spec }) => compileRecoveryPolicy(name, spec, audit))
      .sort(byStrength),
  };
}

/** The keys of the startup taints of all policies: users and agents remove them, so no pattern covers them. */
export function startupKeysOf(policies: readonly Policy[]): string[] {
  const rules = policies.flatMap((policy) => (policy.kind === 'TaintPolicy' ? policy.spec.taints : []));
  return [...new Set(rules.flatMap(({ key, ensure }) => (isStartup(ensure) ? key : [])))].sort();
}

interface Compilation {
  /** The mode in force. */
  readonly mode?: TaintMode;
  /** See {@link startupKeysOf}; by default those of the policy alone. */
  readonly startupKeys?: readonly string[];
}

export function compileTaintPolicy(
  policy: TaintPolicy,
  { mode = policy.spec.mode, startupKeys = startupKeysOf([policy]) }: Compilation = {},
): CompiledTaintPolicy {
  const { kind, name, spec } = policy;
  const { users = [], groups = [] } = spec.exempt ?? {};
  const isExemptUser = matcherOfAny(users);
  const isExemptGroup = matcherOfAny(groups);
  const stated = spec.taints.map(
    (rule, index): CompiledTaintRule => ({
      ...rule,
      ...(isPattern(rule.key) && startupKeys.length > 0 ? { except: [...(rule.except ?? []), ...startupKeys] } : {}),
      field: `spec.taints[${index}]`,
      waits: waitsForEstablishment(rule, mode),
    }),
  );
  const rules = stated.filter((rule) => restricts(rule, 'Removal'));
  const atOnce = stated.map((rule): CompiledTaintRule => ({ ...rule, waits: false }));
  const additionRules = atOnce.filter((rule) => restricts(rule, 'Addition'));
  const unselectionRules = atOnce.filter((rule) => restricts(rule, 'Unselection'));
  const waits = rules.some((rule) => rule.waits);
  const protection = compileRules(rules);
  const addition = compileRules(additionRules);
  const unselection = compileRules(unselectionRules);
  return {
    kind,
    name,
    mode,
    declared: spec.mode,
    rank: TAINT_MODES.indexOf(mode),
    failurePolicy: failurePolicyOf(spec, mode),
    trial: (field) => {
      const rule = stated.find((one) => one.field === field);
      return rule && !waitsForEstablishment(rule, spec.mode) ? spec.mode : 'Audit';
    },
    rules,
    additionRules,
    unselectionRules,
    nodeSelector: spec.nodeSelector,
    exempt: { users, groups },
    removableByAnnotation: spec.removalByAnnotation !== 'Forbidden' && mode !== 'Audit',
    wouldAllowByAnnotation: spec.removalByAnnotation !== 'Forbidden' && mode === 'Audit' && spec.mode !== 'Audit',
    required: ensured(stated.filter(({ ensure }) => ensure === 'Always')),
    atRegistration: ensured(stated.filter(({ ensure }) => ensure !== undefined)),
    untilReady: stated.flatMap((rule) => {
      const { readyWhen, field } = rule;
      if (rule.ensure !== 'UntilReady' || readyWhen === undefined) return [];
      const { daemonSets } = readyWhen;
      const progressDeadlineMs = progressDeadlineMsOf(readyWhen);
      return ensured([rule]).map(({ value: { taint } }) => ({
        value: { taint, daemonSets, progressDeadlineMs },
        field,
      }));
    }),
    selectsNode: compileSelector(spec.nodeSelector),
    exemptsAnybody: users.length + groups.length > 0,
    exempts: (requester) => isExemptUser(requester.username) || requester.groups.some(isExemptGroup),
    establishes: rules.some((rule) => waitsForEstablishment(rule, spec.mode)),
    protectedBy: (taint) => (protection.exactly(taint) ?? protection.byPattern(taint))?.field,
    heldBy: (taint, isSettled) =>
      (protection.exactly(taint) ?? (!waits || isSettled(taint) ? protection.byPattern(taint) : undefined))?.field,
    additionRestrictedBy: (taint) => (addition.exactly(taint) ?? addition.byPattern(taint))?.field,
    unselectionRestrictedBy: (taint) => (unselection.exactly(taint) ?? unselection.byPattern(taint))?.field,
    deletedNodeRetentionMs:
      spec.deletedNodeRetentionSeconds === undefined ? undefined : 1_000 * spec.deletedNodeRetentionSeconds,
  };
}

function ensured(rules: readonly CompiledTaintRule[]): Stated<RequiredTaint>[] {
  return rules.flatMap(({ key, value, effect, mayEvict = false, field }) => {
    if (effect === undefined) return [];
    const taint = { key, ...(value ? { value } : {}), effect };
    return [{ value: { taint, anyValue: value === undefined, mayEvict }, field }];
  });
}

/** @param mode the one in force */
export function compileTolerationPolicy(
  { kind, name, spec }: TolerationPolicy,
  mode: TolerationMode = spec.mode,
): CompiledTolerationPolicy {
  return {
    kind,
    name,
    mode,
    rank: TOLERATION_MODES.indexOf(mode),
    daemonSets: spec.daemonSets,
    tolerations: tolerationsOf(spec).map((value, index) => ({ value, field: `spec.tolerations[${index}]` })),
    patchesExisting: mode === 'Mutate' && spec.existing === 'Patch',
    isTrial: mode !== spec.mode,
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

function compileSelector(selector: LabelSelector | undefined): (labels: StringMap) => boolean {
  return selector === undefined ? () => true : (labels) => selects(selector, labels);
}

type Ranked = Pick<CompiledTaintPolicy, 'rank' | 'name'>;

/** The strongest mode first, then by name. */
export function byStrength(a: Ranked, b: Ranked): number {
  return a.rank - b.rank || byName(a, b);
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
