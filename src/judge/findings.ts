import { isPattern } from '../kubernetes/pattern.ts';
import { droppedTaints, formatTaint } from '../kubernetes/taint.ts';
import { count } from '../kubernetes/text.ts';
import type { Policy } from '../policy/policy.ts';
import type { CompiledTaintPolicy, CompiledTolerationPolicy } from '../policy/policy-set.ts';
import type { Findings } from '../policy/policy-status.ts';
import { formatProblem, type Problem } from '../policy/problem.ts';
import type { CompiledRecoveryPolicy } from '../policy/recovery-policy.ts';
import { settleSecondsOf, type TaintPolicySpec, waitsToSettle } from '../policy/taint-policy.ts';
import type { TaintRule } from '../policy/taint-rule.ts';
import { type DaemonSetView, judgeDaemonSet } from './daemon-set.ts';
import { REMEMBERED_ANNOTATION, settledOn } from './memory.ts';
import { nodeDrift } from './node-drift.ts';
import type { NodeView } from './node-view.ts';

/** What the author of a valid policy should know of each key that means every taint. */
export function wildcardNotes(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) => (/^\*+$/.test(rule.key) ? noteOf(rule, spec) : undefined));
}

/** Where no leader runs. */
export function wildcardNotesWithoutLeader(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) =>
    waitsToSettle(rule, spec, spec.mode)
      ? `protects nothing here: only taintkeeper in a cluster records which taints have settled. Set settleSeconds: 0, and list in except what nodes must be able to lose`
      : undefined,
  );
}

/** Which taints an update takes off a node that would be protected, had they settled. */
export function notesOfUnsettled(
  oldNode: NodeView,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
): string[] {
  const isSettled = settledOn(oldNode.remembered);
  const selecting = policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
  return droppedTaints(oldNode.taints, node.taints).flatMap((taint) =>
    selecting.flatMap((policy) => {
      const field = policy.protectedBy(taint);
      if (field === undefined || policy.heldBy(taint, isSettled) !== undefined) return [];
      return [
        `taint ${formatTaint(taint)} may be removed: TaintPolicy ${policy.name} (${field}) protects it once ${REMEMBERED_ANNOTATION} lists it`,
      ];
    }),
  );
}

function noteOf(rule: TaintRule, spec: TaintPolicySpec): string {
  const seconds = settleSecondsOf(spec);
  if (spec.mode === 'Audit') {
    return `matches every taint: also reports those that Deny and Restore do not protect yet, on the node for less than ${seconds} s`;
  }
  return waitsToSettle(rule, spec, spec.mode)
    ? `matches every taint that has stayed on a Ready node for ${seconds} s: list in except what is removed later than that`
    : 'matches every taint at once, start-up taints included: list those in except';
}

function notesOf(policy: Policy, note: (rule: TaintRule, spec: TaintPolicySpec) => string | undefined): string[] {
  if (policy.kind !== 'TaintPolicy') return [];
  const { spec } = policy;
  return spec.taints.flatMap((rule, index) => {
    const text = isPattern(rule.key) && rule.ensure !== 'Nothing' ? note(rule, spec) : undefined;
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

/** For each key of the policy that no node has, but for a slip of the pen: what it probably should be. */
export function misspeltKeys({ rules, nodeSelector = {} }: CompiledTaintPolicy, nodes: NodeKeys): string[] {
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector;
  // What must not be there is rightly nowhere.
  const required = matchExpressions.filter(({ operator }) => operator === 'In' || operator === 'Exists');
  const labels = [...Object.keys(matchLabels), ...required.map(({ key }) => key)];
  // A Present taint comes from the policy itself.
  const exact = rules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Present');
  return [
    ...labels.flatMap((key) =>
      doubt(key, nodes.labels, (meant) => `spec.nodeSelector: no node has label ${key}; did you mean ${meant}?`),
    ),
    ...exact.flatMap(({ key, field }) =>
      doubt(key, nodes.taints, (meant) => `${field}.key: no node carries a taint ${key}; did you mean ${meant}?`),
    ),
  ];
}

function doubt(key: string, known: ReadonlySet<string>, say: (meant: string) => string): string[] {
  if (known.has(key)) return [];
  return [...known]
    .filter((other) => isSlip(key, other))
    .sort()
    .slice(0, 1)
    .map(say);
}

/**
 * Whether one text is the other but for case and separators, or one letter too many, one too few, or two swapped. Another letter
 * or digit in its place is no slip: `pool-a` and `pool-b` are two things.
 */
function isSlip(one: string, other: string): boolean {
  const [a, b] = [one, other]
    .map((text) => text.toLowerCase().replace(/[-_.]/g, ''))
    .sort((x, y) => x.length - y.length);
  if (a === undefined || b === undefined) return false;
  if (a === b) return true;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  const from = at === -1 ? a.length : at;
  if (b.length === a.length + 1) return /[a-z]/.test(b[from] ?? '') && a.slice(from) === b.slice(from + 1);
  return (
    a.length === b.length &&
    a[from] === b[from + 1] &&
    a[from + 1] === b[from] &&
    a.slice(from + 2) === b.slice(from + 2)
  );
}

/**
 * What the author of a policy should know that is for no node, or for no taint, as the nodes are now.
 * @param selected the nodes that it selects, of so many
 */
export function idleNotes(
  { nodeSelector, rules, present, protectedBy }: CompiledTaintPolicy,
  selected: readonly NodeView[],
  nodes: number,
): string[] {
  if (selected.length === 0) {
    return nodes > 0 && nodeSelector ? [`spec.nodeSelector selects none of ${count(nodes, 'node')}`] : [];
  }
  const isForSome = rules.length === 0 || present.length > 0;
  const holds = ({ taints }: NodeView) => taints.some((taint) => protectedBy(taint) !== undefined);
  return isForSome || selected.some(holds) ? [] : ['no selected node carries a taint that the policy protects'];
}

/**
 * The nodes that lack what the policy declares: see {@link nodeDrift}.
 * @param before all violators as they were found the last time, the latest first
 */
export function nodeFindings(
  policy: CompiledTaintPolicy,
  nodes: Iterable<NodeView>,
  before: readonly string[],
): Findings {
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
): Findings {
  const policies = { taintPolicies: [], tolerationPolicies: [policy], recoveryPolicies: [] };
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
): Findings {
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
): Findings {
  const matching = [...views].filter(selected);
  return { matched: matching.length, violators: latestFirst(matching.filter(violates).map(nameOf), before) };
}

/** Whoever violated before keeps the place, so that the first few change no more often than needed. */
function latestFirst(names: readonly string[], before: readonly string[]): string[] {
  const violators = new Set(names.toSorted());
  const lasting = before.filter((name) => violators.delete(name));
  return [...violators, ...lasting];
}
