import { announcementsIn, isRemovalAllowed, parseAllowedRemovals } from '../judge/allow-removal.ts';
import { contradictions, type Disagreement, whyFirst } from '../judge/contradictions.ts';
import { isRequiredTaint, requiredTaints } from '../judge/declared-taints.ts';
import { type Circumstances, isRestoredBy, type Loss, nodeDrift } from '../judge/node-drift.ts';
import { type Blocked, type BlockedBy, lostTaints } from '../judge/node-record.ts';
import type { NodeWithRecord } from '../judge/node-view.ts';
import { type StringMap, selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import { equalTaints, formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { Policy, TaintPolicy } from '../policy/policy.ts';
import { type CompiledTaintPolicy, compilePolicies, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { PolicyField } from './sections.ts';

/** Whether a TaintPolicy selects a node. */
export interface PolicyOnNode {
  readonly policy: string;
  readonly mode: TaintMode;
  /** The requirements of its node selector that the labels do not meet, such as `pool=gpu`. Empty if it selects the node. */
  readonly unmet: readonly string[];
  /** True if a node that carries a protected taint may not change its labels so that the policy does not select it any more. */
  readonly refusesLeaving?: true;
}

/** The state of a taint on a node. */
export type TaintState =
  /** Carried, and no policy covers it. */
  | 'free'
  /** Carried, and set by a policy for the time until the node is ready. Every user may remove it. */
  | 'startup'
  /** Carried. Every user may remove it, and only exempt users may add it. */
  | 'addition-restricted'
  /** Carried, and protected by a policy. */
  | 'protected'
  /** Carried, and protected by a pattern once it is established. */
  | 'not-established'
  /** Required, and not carried. */
  | 'missing'
  /** Not carried, because it was removed with permission. */
  | 'removed';

export interface TaintOnNode {
  readonly taint: Taint;
  readonly state: TaintState;
  /** The policies that cover it. For a missing taint, the policies that require it. For a startup taint, the policies that set it. */
  readonly by: readonly PolicyField[];
  /** For a startup taint: the leader removes it when DaemonSets are ready. */
  readonly untilReady?: true;
  /** The policies that restrict its addition, if there are any. */
  readonly guards?: readonly PolicyField[];
  /** For a missing taint: why it is not restored. Undefined if it is about to be, as far as is known without the leader. */
  readonly blockedBy?: BlockedBy | undefined;
  /** Why the leader does not restore it, as the NodeTaintRecord says. */
  readonly recorded?: Blocked;
  /** For a missing taint that a policy would restore if taintkeeper ran without --audit. */
  readonly onlyAudit?: true;
  /** For a missing taint: the node carries the same key and effect with another value. */
  readonly otherValue?: boolean;
  /** For a missing taint: that other value, if policies protect it. */
  readonly kept?: KeptValue;
  /** For a missing taint: another policy requires another value. */
  readonly contradiction?: ContradictoryPolicies;
}

/** A value that blocks another one. */
export interface KeptValue {
  readonly taint: Taint;
  readonly by: readonly PolicyField[];
  /** The first of the policies that protect it and allow no removal by annotation. */
  readonly closedBy?: string;
  /** The allow-removal annotation names it. */
  readonly isAnnounced?: true;
  /** Whether the missing value is one that the node is recorded to have carried, and no policy requires. */
  readonly isRecorded: boolean;
}

/** Two policies that require different values of one taint. */
export interface ContradictoryPolicies {
  /** The value of a node that carries neither, as kubectl writes the taint. */
  readonly winner: string;
  readonly policies: readonly [winner: string, loser: string];
  readonly why: string;
}

/** An unused entry of the allow-removal annotation. */
export interface Announced {
  /** As it is written there. */
  readonly text: string;
  /** `idle`: it names no taint of the node that a policy protects. `forbidden`: such a policy allows no removal. */
  readonly state: 'allowed' | 'forbidden' | 'idle' | 'unreadable';
}

/** How the TaintPolicies apply to one node. */
export interface PoliciesOnNode {
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  /** Whether the leader's knowledge is part of it: conflicts, and taints that wait for their turn. */
  readonly fromLeader: boolean;
  readonly policies: readonly PolicyOnNode[];
  readonly taints: readonly TaintOnNode[];
  /** The removals that are announced. */
  readonly announced: readonly Announced[];
}

export interface PoliciesOnNodeOptions {
  /** Whether taintkeeper runs with --audit. */
  readonly audit?: boolean;
  /** Known to the leader only. */
  readonly isInConflict?: Circumstances['isInConflict'] | undefined;
}

/** How the TaintPolicies apply to a node in its present state. */
export function policiesOnNode(
  node: NodeWithRecord,
  policies: readonly Policy[],
  { audit = false, isInConflict }: PoliciesOnNodeOptions = {},
): PoliciesOnNode {
  const declared = policies.filter((policy) => policy.kind === 'TaintPolicy');
  const compiled = compilePolicies(declared, { audit }).taintPolicies;
  const selecting = compiled.filter((policy) => policy.selectsNode(node.labels));
  const carried = node.taints.map((taint): TaintOnNode => {
    const policiesWith = (fieldOf: (policy: CompiledTaintPolicy) => string | undefined) =>
      selecting.flatMap((policy): PolicyField[] => {
        const field = fieldOf(policy);
        return field === undefined ? [] : [{ policy: policy.name, mode: policy.mode, field }];
      });
    const by = policiesWith((policy) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED));
    const protecting = policiesWith((policy) => policy.removalRestrictedBy(taint, node.established));
    const guards = policiesWith((policy) => policy.additionRestrictedBy(taint));
    const guarded = guards.length > 0 ? { guards } : {};
    if (protecting.length > 0) return { taint, state: 'protected', by: protecting, ...guarded };
    if (by.length > 0) return { taint, state: 'not-established', by, ...guarded };
    const startup = startupOf(taint, selecting);
    if (startup) return { taint, state: 'startup', ...startup, ...guarded };
    return { taint, state: guards.length > 0 ? 'addition-restricted' : 'free', by: [], ...guarded };
  });
  const { losses, removed } = nodeDrift(node, compiled, isInConflict ? { isInConflict } : {});
  const present = valuesOf(node.taints);
  const lost = lostTaints(node.recorded, node.taints);
  const groups = Map.groupBy(losses, ({ taint }) => formatTaint(taint));
  const contradictory = contradictions(selecting, [node]);
  return {
    audit,
    announced: announcementsIn(parseAllowedRemovals(node.allowRemoval)).map(({ text, taint }) => ({
      text,
      state: taint === undefined ? 'unreadable' : effectOf(text, node, selecting),
    })),
    fromLeader: isInConflict !== undefined,
    policies: compiled.map(({ name, mode, unselectionRules }) => ({
      policy: name,
      mode,
      unmet: unmetBy(declared, name, node.labels),
      ...(unselectionRules.length > 0 && mode !== 'Audit' ? { refusesLeaving: true } : {}),
    })),
    taints: [
      ...carried,
      ...[...groups.values()].map((group) => {
        const found = missing(group, present);
        const recorded = lost.find((taint) => equalTaints(taint, found.taint))?.blocked;
        return {
          ...found,
          ...(recorded ? { recorded } : {}),
          ...inTheWay(found.taint, node, selecting, contradictory),
        };
      }),
      ...removed
        .filter(({ taint }) => !present.has(identity(taint)))
        .map(
          ({ taint, policy: { name, mode }, field }): TaintOnNode => ({
            taint,
            state: 'removed',
            by: [{ policy: name, mode, field }],
          }),
        ),
    ],
  };
}

/** The policies that set the taint as a startup taint. In mode Audit, they set none. */
function startupOf(
  taint: Taint,
  selecting: readonly CompiledTaintPolicy[],
): Pick<TaintOnNode, 'by' | 'untilReady'> | undefined {
  const isIt = ({ value }: { readonly value: { readonly taint: Taint } }) => identity(value.taint) === identity(taint);
  const setting = selecting.filter(({ mode }) => mode !== 'Audit');
  const by = setting.flatMap(({ name, mode, startup }) =>
    startup.filter(isIt).map(({ field }) => ({ policy: name, mode, field })),
  );
  if (by.length === 0) return undefined;
  return { by, ...(setting.some(({ untilReady }) => untilReady.some(isIt)) ? { untilReady: true } : {}) };
}

function missing(losses: readonly Loss[], present: ReadonlyMap<string, string>): TaintOnNode {
  const [first] = losses;
  if (first === undefined) throw new Error('a group without a loss');
  const restored = losses.some(({ blockedBy }) => blockedBy === undefined);
  return {
    taint: first.taint,
    state: 'missing',
    by: losses.map(({ policy: { name, mode }, field }) => ({ policy: name, mode, field })),
    blockedBy: restored ? undefined : first.blockedBy,
    ...(losses.some(isHeldUpByAudit) ? { onlyAudit: true } : {}),
    otherValue: present.has(identity(first.taint)),
  };
}

function isHeldUpByAudit({ policy, taint }: Loss): boolean {
  const isRequired = policy.required.some(({ value }) => isRequiredTaint(taint, value));
  return policy.mode === 'Audit' && isRestoredBy(policy.declared, isRequired);
}

function effectOf(entry: string, { taints, established }: NodeWithRecord, selecting: readonly CompiledTaintPolicy[]) {
  const allowed = parseAllowedRemovals(entry);
  const protecting = taints
    .filter((taint) => isRemovalAllowed(allowed, taint))
    .flatMap((taint) =>
      selecting.filter(
        (policy) => policy.mode !== 'Audit' && policy.removalRestrictedBy(taint, established) !== undefined,
      ),
    );
  if (protecting.length === 0) return 'idle';
  return protecting.every(({ allowsRemovalByAnnotation }) => allowsRemovalByAnnotation) ? 'allowed' : 'forbidden';
}

/** What blocks a missing taint: the value that the node carries, or what another policy requires. */
function inTheWay(
  missed: Taint,
  { taints, labels, established, allowRemoval }: NodeWithRecord,
  selecting: readonly CompiledTaintPolicy[],
  contradictory: readonly Disagreement[],
): Pick<TaintOnNode, 'kept' | 'contradiction'> {
  const text = formatTaint(missed);
  const contradiction = contradictory.find(({ first, second }) => first.text === text || second.text === text);
  const taint = taints.find((one) => identity(one) === identity(missed));
  const protecting = selecting.flatMap((policy) => {
    const field = taint && policy.mode !== 'Audit' ? policy.removalRestrictedBy(taint, established) : undefined;
    return field === undefined ? [] : [{ policy, field }];
  });
  const closed = protecting.find(({ policy }) => !policy.allowsRemovalByAnnotation);
  return {
    ...(taint && protecting.length > 0
      ? {
          kept: {
            taint,
            by: protecting.map(({ policy: { name, mode }, field }) => ({ policy: name, mode, field })),
            ...(closed ? { closedBy: closed.policy.name } : {}),
            ...(isRemovalAllowed(parseAllowedRemovals(allowRemoval), taint) ? { isAnnounced: true } : {}),
            isRecorded:
              established(missed) && !requiredTaints(labels, selecting).some((one) => isRequiredTaint(missed, one)),
          },
        }
      : {}),
    ...(contradiction
      ? {
          contradiction: {
            winner: contradiction.first.text,
            policies: [contradiction.first.policy.name, contradiction.second.policy.name],
            why: whyFirst(contradiction.first.policy, contradiction.second.policy),
          },
        }
      : {}),
  };
}

function unmetBy(policies: readonly TaintPolicy[], name: string, labels: StringMap): string[] {
  const selector = policies.find((policy) => policy.name === name)?.spec.nodeSelector;
  return requirementsOf(selector)
    .filter((requirement) => !selects({ matchExpressions: [requirement] }, labels))
    .map(formatRequirement);
}
