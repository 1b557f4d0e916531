import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, count } from '../../kubernetes/text.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy, CompiledTolerationPolicy } from '../../policy/policy-set.ts';
import type { PolicyFindings } from '../../policy/policy-status.ts';
import { type CompiledRecoveryPolicy, RECOVERY_TIMINGS } from '../../policy/recovery-policy.ts';
import { isRemovalAllowed, keepsOff, parseAllowedRemovals, readsAllowRemoval } from '../allow-removal.ts';
import type { DaemonSetView } from '../daemon-set-view.ts';
import { isRequiredTaint } from '../declared-taints.ts';
import { endedStartupTaints, startupWarnings } from '../ended-startup-taints.ts';
import { nodeDrift } from '../node-drift.ts';
import type { NodeView } from '../node-view.ts';
import { judgeDaemonSet } from '../request/daemon-set.ts';
import { misspellingsIn, type NodeKeys } from './misspelled-keys.ts';

/** Nodes that a warning names. */
const MAX_NAMED = 3;

/**
 * Warnings on apply, which are short: keys that look misspelled, else that the policy selects no node. None while there are no nodes.
 * @param keys those of all nodes
 */
export function policyWarnings(
  policy: CompiledTaintPolicy,
  keys: NodeKeys,
  nodes: { readonly selected: number; readonly all: number },
): string[] {
  const misspelled = misspellingsIn(policy, keys);
  if (misspelled.length > 0) {
    return misspelled.map(
      ({ key, meant, of }) => `no node ${of === 'label' ? 'has label' : 'carries'} ${key}; did you mean ${meant}?`,
    );
  }
  return nodes.selected === 0 ? selectsNone(nodes.all) : [];
}

/**
 * Warnings for the author of a changed policy: which nodes it leaves.
 * @param left their names, see {@link isLeft}
 */
export function selectionWarnings(left: readonly string[]): string[] {
  if (left.length === 0) return [];
  const named = atMost(MAX_NAMED, left).join(', ');
  return [`this policy no longer protects taints on ${count(left.length, 'node')} that it selected: ${named}`];
}

/**
 * Warnings for the author of a changed policy: which nodes wait with its startup taint, which no policy has there any more.
 * @param waiting their names, see {@link losesStartupRule}
 */
export function waitingWarnings(waiting: readonly string[]): string[] {
  const named = atMost(MAX_NAMED, waiting).join(', ');
  return startupWarnings(waiting.length, 'will').map((warning) => `${warning}: ${named}`);
}

/**
 * Whether the node waits with a startup taint of the policy as it was before a change, and no policy has the taint now.
 * @param after the other policies, and the changed one
 */
export function losesStartupRule(
  before: CompiledTaintPolicy,
  after: readonly CompiledTaintPolicy[],
  node: Pick<NodeView, 'labels' | 'taints'>,
): boolean {
  const waiting = startupTaintsOf(before, node);
  return waiting.length > 0 && endedStartupTaints(waiting, [before], enforcedPolicies(after, node.labels)).length > 0;
}

/** Whether a change of a policy may leave nodes with its startup taints: it selects other nodes, or has not all of the taints. */
export function mayLeaveStartupTaints(before: CompiledTaintPolicy, after: CompiledTaintPolicy): boolean {
  const startupOf = ({ mode, nodeSelector, untilReady }: CompiledTaintPolicy) =>
    mode === 'Audit'
      ? []
      : untilReady.map(({ value: { taint } }) => JSON.stringify([nodeSelector, formatTaint(taint)]));
  const kept = new Set(startupOf(after));
  return startupOf(before).some((one) => !kept.has(one));
}

/** The taints on a node that the policy removes once the node is ready. */
function startupTaintsOf(
  policy: CompiledTaintPolicy,
  { labels, taints }: Pick<NodeView, 'labels' | 'taints'>,
): Taint[] {
  if (policy.mode === 'Audit' || policy.untilReady.length === 0 || !policy.selectsNode(labels)) return [];
  return taints.filter((carried) => policy.untilReady.some(({ value }) => isRequiredTaint(carried, value)));
}

/**
 * Whether the policy, as it was before a change, protected a taint that the node carries.
 * @param node one that the changed policy does not select
 */
export function isLeft(before: CompiledTaintPolicy, { labels, taints }: NodeView): boolean {
  if (before.mode === 'Audit' || !before.selectsNode(labels)) return false;
  return taints.some((taint) => before.protectedBy(taint) !== undefined);
}

/**
 * Notes for the author of a policy that selects no node at present, or protects no taint of the selected nodes.
 * @param nodes the number of all nodes
 */
export function idleNotes(
  { protectionRules, required, protectedBy }: CompiledTaintPolicy,
  selected: readonly NodeView[],
  nodes: number,
): string[] {
  if (selected.length === 0) return selectsNone(nodes);
  const isForSome = protectionRules.length === 0 || required.length > 0;
  const holds = ({ taints }: NodeView) => taints.some((taint) => protectedBy(taint) !== undefined);
  return isForSome || selected.some(holds) ? [] : ['no selected node carries a taint that the policy protects'];
}

/** For a policy that selects no node. It has a selector, because a policy without one selects every node. */
function selectsNone(nodes: number): string[] {
  return nodes === 0 ? [] : [`spec.nodeSelector selects none of ${count(nodes, 'node')}`];
}

/**
 * The nodes that lack what the policy declares: see {@link nodeDrift}.
 * @param before all violators as they were found the last time, the latest first
 */
export function nodeFindings(
  policy: CompiledTaintPolicy,
  nodes: Iterable<NodeView>,
  before: readonly string[],
): PolicyFindings {
  const alone = [policy];
  let removalAllowed = 0;
  let waiting = 0;
  const findings = find(
    nodes,
    (node) => policy.selectsNode(node.labels),
    (node) => {
      if (allowsRemovalOn(node, policy)) removalAllowed++;
      if (startupTaintsOf(policy, node).length > 0) waiting++;
      return nodeDrift(node, alone).losses.length > 0;
    },
    ({ name }) => name,
    before,
  );
  return { ...findings, removalAllowed, waiting };
}

/** Whether an entry of the annotation of the node names a taint that the policy protects there, or requires. */
function allowsRemovalOn({ taints, allowRemoval }: NodeView, policy: CompiledTaintPolicy): boolean {
  if (allowRemoval === undefined || !readsAllowRemoval(policy) || !policy.allowsRemovalByAnnotation) return false;
  const allowed = parseAllowedRemovals(allowRemoval);
  return (
    taints.some((taint) => isRemovalAllowed(allowed, taint) && policy.protectedBy(taint) !== undefined) ||
    policy.required.some(({ value }) => keepsOff(allowed, value))
  );
}

/** What the policy would report if each of the DaemonSets were created as it is now; `before` as with {@link nodeFindings}. */
export function daemonSetFindings(
  policy: CompiledTolerationPolicy,
  daemonSets: Iterable<DaemonSetView>,
  before: readonly string[],
): PolicyFindings {
  const policies = { tolerationPolicies: [policy] };
  return find(
    daemonSets,
    (daemonSet) => policy.selectsDaemonSet(daemonSet),
    (daemonSet) => judgeDaemonSet.validate({ daemonSet }, policies).violations.length > 0,
    ({ namespace, name }) => `${namespace}/${name}`,
    before,
  );
}

/** A daemon pod that is Failed on a node where it could run. */
export interface StuckPod {
  /** `NAMESPACE/POD`. */
  readonly name: string;
  readonly daemonSet: DaemonSetView;
  /** For how long, in milliseconds. */
  readonly forMs: number;
}

/** The DaemonSets that the policy selects, and their pods that count as stuck; `before` as with {@link nodeFindings}. */
export function podFindings(
  policy: CompiledRecoveryPolicy,
  daemonSets: Iterable<DaemonSetView>,
  pods: Iterable<StuckPod>,
  before: readonly string[],
): PolicyFindings {
  const stuck = [...pods].filter(
    ({ daemonSet, forMs }) => forMs >= RECOVERY_TIMINGS.stuckMs && policy.selectsDaemonSet(daemonSet),
  );
  return {
    matched: [...daemonSets].filter((daemonSet) => policy.selectsDaemonSet(daemonSet)).length,
    violators: latestFirst(
      stuck.map(({ name }) => name),
      before,
    ),
  };
}

function find<View>(
  views: Iterable<View>,
  selected: (view: View) => boolean,
  violates: (view: View) => boolean,
  nameOf: (view: View) => string,
  before: readonly string[],
): PolicyFindings {
  const matching = [...views].filter(selected);
  return { matched: matching.length, violators: latestFirst(matching.filter(violates).map(nameOf), before) };
}

/** Objects that violated the policy before keep their order at the end: the first few, which the status names, change as seldom as possible. */
function latestFirst(names: readonly string[], before: readonly string[]): string[] {
  const violators = new Set(names.toSorted());
  const lasting = before.filter((name) => violators.delete(name));
  return [...violators, ...lasting];
}
