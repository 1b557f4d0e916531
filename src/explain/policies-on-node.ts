import { groupsBy } from '../collections/groups-by.ts';
import { isRemovalAllowed, keepsOff, parseAllowedRemovals } from '../judge/allow-removal.ts';
import { isDeclaredTaint, isStartupTaintOf } from '../judge/declared-taints.ts';
import type { BlockedBy, MissingTaint } from '../judge/missing-taint.ts';
import { type Keeping, keepersOf, keepingOf, nodeDrift } from '../judge/node-drift.ts';
import type { NodeView } from '../judge/node-view.ts';
import { contradictions, type Disagreement, whyFirst } from '../judge/policy/contradictions.ts';
import { carriedStartup, type StartupRequirement } from '../judge/startup/startup-requirement.ts';
import { formatTaint, sameTaint, type Taint, taintIdentity, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isOnTrial } from '../policy/enforcement.ts';
import { enforcedPolicies, enforcedWithoutAudit, isProtectedBy, selectingPolicies } from '../policy/policy-index.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { PolicyField } from './policy-field.ts';
import { unmetRequirements } from './unmet-requirements.ts';

/** Whether a TaintPolicy selects a node. */
export interface PolicyOnNode {
  readonly policy: string;
  readonly mode: TaintMode;
  /** The requirements of its node selector that the labels do not meet, such as `pool=gpu`. Empty if it selects the node. */
  readonly unmet: readonly string[];
}

/** The state of a taint on a node. */
export type TaintState =
  /** Carried, and no policy covers it. Policies may set it as a startup taint with another value. */
  | 'free'
  /** Carried, and set by a policy for the time until the node is ready. Every user may remove it. */
  | 'startup'
  /** Carried, and protected by a policy. */
  | 'protected'
  /** Carried, and not protected: the policies that cover it are in mode Audit, and only report its removal. */
  | 'audited'
  /** Required, and not carried. */
  | 'missing'
  /** Required, not carried, and kept off by an entry of the annotation allow-removal. */
  | 'kept-off';

export interface TaintOnNode {
  readonly taint: Taint;
  readonly state: TaintState;
  /**
   * The policies that cover it. For a missing taint, the policies that require it. For a startup taint, the policies that set it. For a free taint, the
   * policies that set it with another value.
   */
  readonly by: readonly PolicyField[];
  /** For a startup taint: the leader removes it when `readyWhen` holds. */
  readonly untilReady?: true;
  /** For a missing taint: why it is not set. Undefined if it is about to be, as far as is known without the leader. */
  readonly blockedBy?: BlockedBy | undefined;
  /** For a missing taint that a policy would set if taintkeeper ran without --audit. */
  readonly onTrial?: true;
  /** For a missing taint: the node carries the same key and effect with another value. For a free taint: policies set it with another value. */
  readonly otherValue?: boolean;
  /** For a missing taint: that other value, if other policies than those that require the taint keep it. */
  readonly kept?: KeptValue;
  /** For a missing taint: another policy requires another value. */
  readonly contradiction?: ContradictoryPolicies;
}

/** A value that blocks another one. */
export interface KeptValue {
  readonly taint: Taint;
  readonly by: readonly KeepingPolicy[];
}

export interface KeepingPolicy extends PolicyField {
  readonly keeping: Keeping;
}

/** Two policies that require different values of one taint. */
export interface ContradictoryPolicies {
  /** The value of a node that registers, as kubectl writes the taint. */
  readonly winner: string;
  readonly policies: readonly [winner: string, loser: string];
  readonly why: string;
}

/** An entry of the annotation allow-removal. */
export interface AllowEntry {
  /** As it is written there. */
  readonly text: string;
  /**
   * `allowed`: the node carries the taint, which may be removed. `kept-off`: a policy requires the taint, or sets it until the node is ready, and it is
   * not set. `forbidden`: a policy that protects the taint reads no annotation. `idle`: it names no taint that a policy protects or sets on the node.
   */
  readonly state: 'allowed' | 'kept-off' | 'forbidden' | 'idle' | 'unreadable';
}

/** How the TaintPolicies apply to one node. */
export interface PoliciesOnNode {
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  /** Whether the leader's knowledge of conflicts is part of it. */
  readonly fromLeader: boolean;
  readonly policies: readonly PolicyOnNode[];
  readonly taints: readonly TaintOnNode[];
  /** What the annotation allow-removal says. */
  readonly allowed: readonly AllowEntry[];
}

export interface PoliciesOnNodeOptions {
  /** Whether taintkeeper runs with --audit. */
  readonly audit?: boolean;
  /** Known to the leader only. */
  readonly isInConflict?: ((taint: Taint) => boolean) | undefined;
}

/**
 * How the TaintPolicies apply to a node in its present state.
 * @param policies those in force, compiled with the same `audit`
 */
export function policiesOnNode(
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  { audit = false, isInConflict }: PoliciesOnNodeOptions = {},
): PoliciesOnNode {
  const selecting = selectingPolicies(policies, node.labels);
  const enforcing = enforcedPolicies(policies, node.labels);
  const settingStartup = enforcedWithoutAudit(policies, node.labels);
  const untilReady = carriedStartup(node, policies);
  const carried = node.taints.map((taint): TaintOnNode => {
    const by = protectionsOf(taint, selecting);
    if (isProtectedBy(selecting, taint)) return { taint, state: 'protected', by };
    const startup = startupOf(taint, settingStartup, untilReady);
    if (startup?.state === 'startup') return { taint, ...startup };
    if (by.length > 0) return { taint, state: 'audited', by };
    return { taint, ...(startup ?? { state: 'free', by }) };
  });
  const { missing, keptOff } = nodeDrift(node, policies, isInConflict);
  const valueByTaint = valuesOf(node.taints);
  const groups = groupsBy(missing, ({ taint }) => formatTaint(taint));
  const contradictory = contradictions(selecting, () => [node]);
  return {
    audit,
    allowed: allowEntries(node, enforcing),
    fromLeader: isInConflict !== undefined,
    policies: policies.map((policy) => ({
      policy: policy.name,
      mode: policy.mode,
      unmet: unmetRequirements(policy.nodeSelector, node.labels),
    })),
    taints: [
      ...carried,
      ...groups.map((group) => {
        const found = missingOnNode(group, valueByTaint);
        return {
          ...found,
          ...keptValue(found.taint, node, policies, missing),
          ...contradictionOf(found.taint, contradictory),
        };
      }),
      ...keptOff.map(
        ({ taint, policy: { name, mode }, field }): TaintOnNode => ({
          taint,
          state: 'kept-off',
          by: [{ policy: name, mode, field }],
        }),
      ),
    ],
  };
}

function protectionsOf(taint: Taint, selecting: readonly CompiledTaintPolicy[]): PolicyField[] {
  return selecting.flatMap(({ name, mode, protectingRule }): PolicyField[] => {
    const rule = protectingRule(taint);
    return rule === undefined ? [] : [{ policy: name, mode, field: rule.field }];
  });
}

/**
 * The policies that set the taint as a startup taint, by the rules of the leader. Undefined also if one of them would protect it without `--audit`: the
 * leader leaves it alone.
 * @param policies see {@link enforcedWithoutAudit}
 * @param untilReady see {@link carriedStartup}
 */
function startupOf(
  taint: Taint,
  policies: readonly CompiledTaintPolicy[],
  untilReady: readonly StartupRequirement[],
): Pick<TaintOnNode, 'state' | 'by' | 'untilReady' | 'otherValue'> | undefined {
  const alike = policies.flatMap(({ name, mode, startup }) =>
    startup
      .filter((one) => sameTaint(one.taint, taint))
      .map((one) => ({ one, by: { policy: name, mode, field: one.field } })),
  );
  if (alike.length === 0 || isProtectedBy(policies, taint)) return undefined;
  const isUntilReady = untilReady.some((one) => sameTaint(one.taint, taint));
  // Policies set a taint of UntilReady together: with the value of one of them.
  const setting = alike.filter(
    ({ one }) => isDeclaredTaint(taint, one) || (isUntilReady && one.ensure === 'UntilReady'),
  );
  if (setting.length === 0) return { state: 'free', by: alike.map(({ by }) => by), otherValue: true };
  return { state: 'startup', by: setting.map(({ by }) => by), ...(isUntilReady ? { untilReady: true } : {}) };
}

function missingOnNode(
  missing: readonly [MissingTaint, ...MissingTaint[]],
  valueByTaint: ReadonlyMap<string, string>,
): TaintOnNode {
  const [first] = missing;
  const isSet = missing.some(({ blockedBy }) => blockedBy === undefined);
  return {
    taint: first.taint,
    state: 'missing',
    by: missing.map(({ policy: { name, mode }, field }) => ({ policy: name, mode, field })),
    blockedBy: isSet ? undefined : first.blockedBy,
    ...(missing.some(({ policy }) => isOnTrial(policy)) ? { onTrial: true } : {}),
    otherValue: valueByTaint.has(taintIdentity(first.taint)),
  };
}

function allowEntries(
  { taints, allowRemoval }: NodeView,
  enforcing: readonly CompiledTaintPolicy[],
): readonly AllowEntry[] {
  return parseAllowedRemovals(allowRemoval).entries.map(({ text, taint }): AllowEntry => {
    if (taint === undefined) return { text, state: 'unreadable' };
    const named = parseAllowedRemovals(formatTaint(taint));
    const isCarried = taints.some((one) => isRemovalAllowed(named, one));
    const protecting = enforcing.filter(({ protectingRule, required }) =>
      isCarried ? protectingRule(taint) !== undefined : required.some((one) => keepsOff(named, one)),
    );
    const atStartup = enforcing.filter((policy) =>
      isCarried ? isStartupTaintOf([policy], taint) : policy.untilReady.some((one) => keepsOff(named, one)),
    );
    if (protecting.length + atStartup.length === 0) return { text, state: 'idle' };
    const reads = ({ allowsRemovalByAnnotation }: CompiledTaintPolicy) => allowsRemovalByAnnotation;
    // One policy that reads entries is enough to keep a startup taint off.
    if (protecting.length > 0 ? !protecting.every(reads) : !atStartup.some(reads)) return { text, state: 'forbidden' };
    return { text, state: isCarried ? 'allowed' : 'kept-off' };
  });
}

/** The value that a node carries in place of a missing taint, if policies keep it. */
function keptValue(
  missed: Taint,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  missing: readonly MissingTaint[],
): Pick<TaintOnNode, 'kept'> {
  const taint = node.taints.find((one) => taintIdentity(one) === taintIdentity(missed));
  if (!taint) return {};
  const by = keepersOf(taint, node, policies, missing).map((policy): KeepingPolicy => {
    const { keeping, field } = keepingOf(policy, taint, node);
    return { policy: policy.name, mode: policy.mode, field, keeping };
  });
  return by.length > 0 ? { kept: { taint, by } } : {};
}

/** What another policy requires in place of a missing taint. */
function contradictionOf(missed: Taint, contradictory: readonly Disagreement[]): Pick<TaintOnNode, 'contradiction'> {
  const text = formatTaint(missed);
  const contradiction = contradictory.find(({ first, second }) => first.text === text || second.text === text);
  if (!contradiction) return {};
  const { first, second } = contradiction;
  return {
    contradiction: {
      winner: first.text,
      policies: [first.policy.name, second.policy.name],
      why: whyFirst(first.policy, second.policy),
    },
  };
}
