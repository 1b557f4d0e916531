import { lettersIn, looksMisspelled } from '../kubernetes/misspelling.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { formatTaint, removedTaints } from '../kubernetes/taint.ts';
import { count } from '../kubernetes/text.ts';
import type { Policy } from '../policy/policy.ts';
import type { CompiledTaintPolicy, CompiledTolerationPolicy } from '../policy/policy-set.ts';
import type { PolicyFindings } from '../policy/policy-status.ts';
import { formatProblem, type Problem } from '../policy/problem.ts';
import type { CompiledRecoveryPolicy } from '../policy/recovery-policy.ts';
import { ESTABLISHED_AFTER_SECONDS, type TaintPolicySpec, waitsForEstablishment } from '../policy/taint-policy.ts';
import { restricts, type TaintRule } from '../policy/taint-rule.ts';
import { type DaemonSetView, judgeDaemonSet } from './daemon-set.ts';
import { nodeDrift } from './node-drift.ts';
import { policiesOnUpdate } from './node-update.ts';
import type { EstablishedView, NodeView } from './node-view.ts';

/** What the author of a valid policy should know of each key that means every taint. */
export function wildcardNotes(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) => (/^\*+$/.test(rule.key) ? noteOf(rule, spec) : undefined));
}

/** Where no leader runs. */
export function wildcardNotesWithoutLeader(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) =>
    waitsForEstablishment(rule, spec.mode)
      ? `protects no taint here, because only taintkeeper in a cluster records which taints are established: name each key`
      : undefined,
  );
}

/** Which taints an update takes off a node that would be protected, if they are established. */
export function notesNotEstablished(
  oldNode: EstablishedView,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
): string[] {
  const selecting = policiesOnUpdate({ oldNode, node }, policies);
  return removedTaints(oldNode.taints, node.taints).flatMap((taint) =>
    selecting.flatMap((policy) => {
      const field = policy.protectedBy(taint);
      if (field === undefined || policy.removalRestrictedBy(taint, oldNode.established) !== undefined) return [];
      return [
        `taint ${formatTaint(taint)} may be removed: TaintPolicy ${policy.name} (${field}) protects it only once the NodeTaintRecord of the node lists it`,
      ];
    }),
  );
}

function noteOf(rule: TaintRule, spec: TaintPolicySpec): string {
  if (!waitsForEstablishment(rule, spec.mode)) {
    return `matches every taint: also reports taints that have been on the node for less than ${ESTABLISHED_AFTER_SECONDS} s, which Deny and Restore do not protect yet`;
  }
  return `matches every taint that has stayed on a Ready node for ${ESTABLISHED_AFTER_SECONDS} s: list in except the taints that are removed later than that`;
}

function notesOf(policy: Policy, note: (rule: TaintRule, spec: TaintPolicySpec) => string | undefined): string[] {
  if (policy.kind !== 'TaintPolicy') return [];
  const { spec } = policy;
  return spec.taints.flatMap((rule, index) => {
    const text = isPattern(rule.key) && restricts(rule, 'Removal') ? note(rule, spec) : undefined;
    const path: Problem['path'] = ['spec', 'taints', index, 'key'];
    return text === undefined ? [] : [formatProblem({ path, message: `"${rule.key}" ${text}` })];
  });
}

/** The keys that nodes have. */
export interface NodeKeys {
  readonly labels: ReadonlySet<string>;
  readonly taints: ReadonlySet<string>;
}

export function keysOf(nodes: Iterable<NodeView>): NodeKeys {
  const labels = new Set<string>();
  const taints = new Set<string>();
  for (const node of nodes) {
    for (const key of Object.keys(node.labels)) labels.add(key);
    for (const { key } of node.taints) taints.add(key);
  }
  return { labels, taints };
}

/** A key of a policy that no node has, but for a slip of the pen. */
interface Slip {
  /** For example `spec.taints[0].key`. */
  readonly field: string;
  readonly key: string;
  /** What it probably should be. */
  readonly meant: string;
  /** What would carry it: a label or a taint. */
  readonly of: 'label' | 'taint';
}

/** For each key of the policy that no node has, but for a slip of the pen: what it probably should be. */
export function misspeltKeys(policy: CompiledTaintPolicy, nodes: NodeKeys): string[] {
  return slipsIn(policy, nodes).map(
    ({ field, key, meant, of }) =>
      `${field}: ${of === 'label' ? 'no node has label' : 'no node carries a taint'} ${key}; did you mean ${meant}?`,
  );
}

/**
 * What whoever writes a policy should know at once, in warnings that are short: keys that no node has but for a slip, or that it selects
 * none. Nothing while there are no nodes.
 */
export function policyWarnings(policy: CompiledTaintPolicy, nodes: readonly NodeView[]): string[] {
  const slips = slipsIn(policy, keysOf(nodes));
  if (slips.length > 0) {
    return slips.map(
      ({ key, meant, of }) => `no node ${of === 'label' ? 'has label' : 'carries'} ${key}; did you mean ${meant}?`,
    );
  }
  const idle = nodes.length > 0 && policy.nodeSelector && !nodes.some(({ labels }) => policy.selectsNode(labels));
  return idle ? [selectsNone(nodes.length)] : [];
}

function slipsIn({ rules, nodeSelector = {} }: CompiledTaintPolicy, nodes: NodeKeys): Slip[] {
  const [labelKeys, taintKeys] = [byLetters(nodes.labels), byLetters(nodes.taints)];
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector;
  // What must not be there is rightly nowhere.
  const required = matchExpressions.filter(({ operator }) => operator === 'In' || operator === 'Exists');
  const labels = [...Object.keys(matchLabels), ...required.map(({ key }) => key)];
  // A required taint comes from the policy itself.
  const exact = rules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Always');
  return [
    ...labels.flatMap((key) => doubt({ field: 'spec.nodeSelector', key, of: 'label' }, nodes.labels, labelKeys)),
    ...exact.flatMap(({ key, field }) => doubt({ field: `${field}.key`, key, of: 'taint' }, nodes.taints, taintKeys)),
  ];
}

/** Nodes have thousands of keys: a slip is looked for among those with about as many letters. */
function byLetters(keys: ReadonlySet<string>): ReadonlyMap<number, readonly string[]> {
  return Map.groupBy(keys, lettersIn);
}

function doubt(
  one: Omit<Slip, 'meant'>,
  known: ReadonlySet<string>,
  knownByLetters: ReadonlyMap<number, readonly string[]>,
): Slip[] {
  if (known.has(one.key)) return [];
  const letters = lettersIn(one.key);
  const near = [letters - 1, letters, letters + 1]
    .flatMap((count) => knownByLetters.get(count) ?? [])
    .filter((other) => looksMisspelled(one.key, other))
    .sort();
  return near.slice(0, 1).map((meant) => ({ ...one, meant }));
}

/**
 * What the author of a policy should know that is for no node, or for no taint, as the nodes are now.
 * @param selected the nodes that it selects, of so many
 */
export function idleNotes(
  { nodeSelector, rules, required, protectedBy }: CompiledTaintPolicy,
  selected: readonly NodeView[],
  nodes: number,
): string[] {
  if (selected.length === 0) {
    return nodes > 0 && nodeSelector ? [selectsNone(nodes)] : [];
  }
  const isForSome = rules.length === 0 || required.length > 0;
  const holds = ({ taints }: NodeView) => taints.some((taint) => protectedBy(taint) !== undefined);
  return isForSome || selected.some(holds) ? [] : ['no selected node carries a taint that the policy protects'];
}

const selectsNone = (nodes: number) => `spec.nodeSelector selects none of ${count(nodes, 'node')}`;

/**
 * The nodes that lack what the policy declares: see {@link nodeDrift}.
 * @param before all violators as they were found the last time, the latest first
 */
export function nodeFindings(
  policy: CompiledTaintPolicy,
  nodes: Iterable<EstablishedView>,
  before: readonly string[],
): PolicyFindings {
  const alone = [policy];
  return find(
    nodes,
    (node) => policy.selectsNode(node.labels),
    (node) => nodeDrift(node, alone).losses.length > 0,
    ({ name }) => name,
    before,
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
    (daemonSet) => judgeDaemonSet({ phase: 'validate', daemonSet }, policies).violations.length > 0,
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

/** The DaemonSets that the policy selects, and their pods that count as stuck by it; `before` as with {@link nodeFindings}. */
export function podFindings(
  policy: CompiledRecoveryPolicy,
  daemonSets: Iterable<DaemonSetView>,
  pods: Iterable<StuckPod>,
  before: readonly string[],
): PolicyFindings {
  const stuck = [...pods].filter(
    ({ daemonSet, forMs }) => forMs >= policy.stuckMs && policy.selectsDaemonSet(daemonSet),
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

/** Whoever violated before keeps the place, so that the first few change no more often than needed. */
function latestFirst(names: readonly string[], before: readonly string[]): string[] {
  const violators = new Set(names.toSorted());
  const lasting = before.filter((name) => violators.delete(name));
  return [...violators, ...lasting];
}
