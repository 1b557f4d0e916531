import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { compilePattern, isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { restoresNatively } from './backstop.ts';
import { compileDaemonSetSelection, type SelectableDaemonSet } from './daemon-set-selection.ts';
import type { Policy, RecoveryPolicy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { RECOVERY_DEFAULTS, RECOVERY_MODES, type RecoveryMode, type RecoveryStrategy } from './recovery-policy.ts';
import { SETTLE_SECONDS, TAINT_MODES, type TaintMode, type TaintRule, waitsToSettle } from './taint-policy.ts';
import { DEFAULT_TOLERATIONS, TOLERATION_MODES, type TolerationMode } from './toleration-policy.ts';

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

export interface CompiledTaintPolicy {
  readonly name: string;
  readonly mode: TaintMode;
  /** Whether the release annotation lets taints go. Never with Audit, which lets everything go and changes nothing. */
  readonly releasable: boolean;
  /** Whether a native policy puts taints back before anybody is asked. */
  readonly restoresNatively: boolean;
  /** The Present taints, as they are set on a node that lacks them. */
  readonly present: readonly Stated<PresentTaint>[];
  selectsNode(labels: StringMap): boolean;
  exempts(requester: Requester): boolean;
  /** Whether there is anybody whom it exempts. */
  readonly exemptsAnybody: boolean;
  /** How long a taint has to stay before a key with a wildcard protects it; 0 for one that protects at once. */
  readonly settleMs: number;
  /** The field that protects the taint, or undefined where none does; one with a wildcard, once the taint has settled. */
  protectedBy(taint: Taint): string | undefined;
  /** The same on a node on which these taints have settled: see {@link settledOn}. */
  heldBy(taint: Taint, isSettled: (taint: Taint) => boolean): string | undefined;
}

export interface PresentTaint {
  readonly taint: Taint;
  /** True when the policy names no value, so that a node's own value is left alone. */
  readonly anyValue: boolean;
  /** Whether a node that runs gets it though that evicts pods. */
  readonly mayEvict: boolean;
}

export interface CompiledTolerationPolicy {
  readonly name: string;
  readonly mode: TolerationMode;
  readonly tolerations: readonly Stated<Toleration>[];
  /** Whether DaemonSets that already run are changed. Never with Audit. */
  readonly patchesExisting: boolean;
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

export interface CompiledRecoveryPolicy {
  readonly name: string;
  readonly mode: RecoveryMode;
  readonly strategy: RecoveryStrategy;
  readonly stuckMs: number;
  /** How often a pod is freed within the window. */
  readonly budget: { readonly limit: number; readonly windowMs: number };
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** An immutable snapshot of all policies, ready to judge with; the strongest mode first, then by name. */
export interface PolicySet {
  readonly taintPolicies: readonly CompiledTaintPolicy[];
  readonly tolerationPolicies: readonly CompiledTolerationPolicy[];
  readonly recoveryPolicies: readonly CompiledRecoveryPolicy[];
}

/**
 * Compiles valid policies into a snapshot. With `audit`, every policy is taken to be in mode Audit.
 * The names of policies of one kind must differ: that is for the reader of the policies to see to.
 */
export function compilePolicies(policies: readonly Policy[], { audit = false } = {}): PolicySet {
  const modeOf = <Mode extends string>(mode: Mode): Mode | 'Audit' => (audit ? 'Audit' : mode);
  return {
    taintPolicies: policies
      .filter((policy) => policy.kind === 'TaintPolicy')
      .map((policy) => compileTaintPolicy(policy, modeOf(policy.spec.mode)))
      .sort(byStrength(TAINT_MODES)),
    tolerationPolicies: policies
      .filter((policy) => policy.kind === 'TolerationPolicy')
      .map((policy) => compileTolerationPolicy(policy, modeOf(policy.spec.mode)))
      .sort(byStrength(TOLERATION_MODES)),
    recoveryPolicies: policies
      .filter((policy) => policy.kind === 'RecoveryPolicy')
      .map((policy) => compileRecoveryPolicy(policy, modeOf(policy.spec.mode ?? RECOVERY_DEFAULTS.mode)))
      .sort(byStrength(RECOVERY_MODES)),
  };
}

function compileTaintPolicy({ name, spec }: TaintPolicy, mode: TaintMode): CompiledTaintPolicy {
  const isExemptUser = matcherOfAny(spec.exempt?.users ?? []);
  const isExemptGroup = matcherOfAny(spec.exempt?.groups ?? []);
  const rules = spec.taints.map((rule, index) => ({ rule, index }));
  const patterns = rules
    .filter(({ rule }) => isPattern(rule.key))
    .map((stated) => ({ ...stated, matches: compileKey(stated.rule) }));
  const exact = Map.groupBy(
    rules.filter(({ rule }) => !isPattern(rule.key)),
    ({ rule }) => rule.key,
  );
  const waits = patterns.some(({ rule }) => waitsToSettle(rule, spec, mode));
  const exactly = (taint: Taint) => exact.get(taint.key)?.find(({ rule }) => meansValueAndEffect(rule, taint));
  const byPattern = (taint: Taint) =>
    patterns.find(({ rule, matches }) => matches(taint.key) && meansValueAndEffect(rule, taint));
  return {
    name,
    mode,
    releasable: spec.release !== 'Never' && mode !== 'Audit',
    restoresNatively: restoresNatively(spec, mode),
    present: spec.taints.flatMap((rule, index) => {
      if (rule.ensure !== 'Present' || rule.effect === undefined) return [];
      const taint = { key: rule.key, ...(rule.value ? { value: rule.value } : {}), effect: rule.effect };
      const value = { taint, anyValue: rule.value === undefined, mayEvict: rule.mayEvict ?? false };
      return [{ value, field: taintField(index) }];
    }),
    selectsNode: compileSelector(spec.nodeSelector),
    exemptsAnybody: [spec.exempt?.users, spec.exempt?.groups].some((names) => (names?.length ?? 0) > 0),
    exempts: ({ username, groups }) => isExemptUser(username) || groups.some(isExemptGroup),
    settleMs: waits ? 1_000 * (spec.settleSeconds ?? SETTLE_SECONDS) : 0,
    protectedBy(taint) {
      const found = exactly(taint) ?? byPattern(taint);
      return found && taintField(found.index);
    },
    heldBy(taint, isSettled) {
      const found = exactly(taint) ?? (!waits || isSettled(taint) ? byPattern(taint) : undefined);
      return found && taintField(found.index);
    },
  };
}

function compileTolerationPolicy({ name, spec }: TolerationPolicy, mode: TolerationMode): CompiledTolerationPolicy {
  return {
    name,
    mode,
    tolerations: (spec.tolerations ?? DEFAULT_TOLERATIONS).map((value, index) => ({
      value,
      field: `spec.tolerations[${index}]`,
    })),
    patchesExisting: mode === 'Mutate' && spec.existing === 'Patch',
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

function compileRecoveryPolicy({ name, spec }: RecoveryPolicy, mode: RecoveryMode): CompiledRecoveryPolicy {
  const { strategy, stuckSeconds, budget } = spec;
  return {
    name,
    mode,
    strategy: strategy ?? RECOVERY_DEFAULTS.strategy,
    stuckMs: 1_000 * (stuckSeconds ?? RECOVERY_DEFAULTS.stuckSeconds),
    budget: {
      limit: budget?.perNode ?? RECOVERY_DEFAULTS.perNode,
      windowMs: 1_000 * (budget?.windowSeconds ?? RECOVERY_DEFAULTS.windowSeconds),
    },
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

/** A pattern never means a key that comes and goes by itself, nor one that its rule excepts. */
function compileKey({ key: pattern, except = [] }: TaintRule): (key: string) => boolean {
  const matches = compilePattern(pattern);
  const isExcepted = matcherOfAny(except);
  return (key) => matches(key) && !isTransientTaintKey(key) && !isExcepted(key);
}

function meansValueAndEffect({ value, effect }: TaintRule, taint: Taint): boolean {
  return (effect === undefined || effect === taint.effect) && (value === undefined || value === (taint.value ?? ''));
}

function taintField(index: number): string {
  return `spec.taints[${index}]`;
}

function compileSelector(selector: LabelSelector | undefined): (labels: StringMap) => boolean {
  return selector === undefined ? () => true : (labels) => selects(selector, labels);
}

function matcherOfAny(patterns: readonly string[]): (text: string) => boolean {
  const matchers = patterns.map(compilePattern);
  return (text) => matchers.some((matches) => matches(text));
}

function byStrength<Mode extends string>(modes: readonly Mode[]) {
  return (a: { mode: Mode; name: string }, b: { mode: Mode; name: string }): number =>
    modes.indexOf(a.mode) - modes.indexOf(b.mode) || (a.name < b.name ? -1 : 1);
}
