import type { Workload } from '../coverage/workload.ts';
import type { Operation } from '../kubernetes/json-patch.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import type { NodeSelectorTerm } from '../kubernetes/node-affinity.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { sameTaint, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { isEnforced } from '../policy/enforcement.ts';
import type { Policy, TaintPolicy, TolerationPolicy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import type { PolicyToleration } from '../policy/toleration-policy.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import type { MigratingNode, MigrationFacts } from './migration-facts.ts';

/** One change, by one command. */
export type Change =
  /** The node gets the new label, with the value of the old one. */
  | { readonly kind: 'label'; readonly node: string; readonly value: string }
  /** The pod template gets tolerations. If `selects`, the key of the new label replaces the old one in all its selectors. */
  | {
      readonly kind: 'template';
      readonly workload: Workload;
      readonly tolerations: readonly PolicyToleration[];
      readonly selects: boolean;
    }
  | { readonly kind: 'taint'; readonly node: string; readonly taint: Taint }
  /** With `allowRemoval`, some policy allows the removal only when the annotation `allow-removal` of the node has this value. */
  | {
      readonly kind: 'untaint';
      readonly node: string;
      readonly taint: Taint;
      readonly allowRemoval: string | undefined;
    }
  /** The policy changes to this one, by these operations. */
  | {
      readonly kind: 'policy';
      readonly policy: TaintPolicy | TolerationPolicy;
      readonly operations: readonly Operation[];
    }
  /** The node loses the old label. */
  | { readonly kind: 'unlabel'; readonly node: string };

/** The remaining changes of one step, by the facts after the steps before it. */
export interface RemainingChanges {
  readonly changes: readonly Change[];
  readonly byHand: readonly string[];
}

/** The facts after the change. */
export function withChange(facts: MigrationFacts, change: Change): MigrationFacts {
  switch (change.kind) {
    case 'label':
      return withNode(facts, change.node, (node) =>
        relabelled(facts, node, { ...node.labels, [NEW_ROLE]: change.value }),
      );
    case 'unlabel':
      return withNode(facts, change.node, (node) => {
        const { [OLD_ROLE]: _, ...labels } = node.labels;
        return relabelled(facts, node, labels);
      });
    case 'taint':
      return withNode(facts, change.node, (node) => ({ ...node, taints: [...node.taints, change.taint] }));
    case 'untaint':
      return withNode(facts, change.node, (node) => ({
        ...node,
        taints: node.taints.filter((taint) => !sameTaint(taint, change.taint)),
      }));
    case 'policy': {
      const { policy } = change;
      const isMeant = ({ kind, name }: Policy) => kind === policy.kind && name === policy.name;
      return { ...facts, policies: facts.policies.map((each) => (isMeant(each) ? policy : each)) };
    }
    case 'template': {
      const { workload, tolerations, selects } = change;
      const tolerating = { ...workload, tolerations: [...workload.tolerations, ...tolerations] };
      const changed = selects ? selectingByNewLabel(tolerating) : tolerating;
      return { ...facts, workloads: facts.workloads.map((each) => (isSameWorkload(each, workload) ? changed : each)) };
    }
  }
}

/** The node with other labels, and with the resulting effects of policies. */
function relabelled({ policies }: MigrationFacts, node: MigratingNode, labels: StringMap): MigratingNode {
  return { ...node, labels, taints: [...node.taints, ...taintsSetBy(policies, node, labels)] };
}

function withNode(facts: MigrationFacts, name: string, change: (node: MigratingNode) => MigratingNode): MigrationFacts {
  return { ...facts, nodes: facts.nodes.map((node) => (node.name === name ? change(node) : node)) };
}

/** Whether both are the same object, perhaps at different times. */
export function isSameWorkload(a: Workload, b: Workload): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
}

function selectingByNewLabel(workload: Workload): Workload {
  const { [OLD_ROLE]: value, ...others } = workload.nodeSelector;
  const rename = (term: NodeSelectorTerm): NodeSelectorTerm => ({
    ...term,
    matchExpressions: term.matchExpressions.map((requirement) =>
      requirement.key === OLD_ROLE ? { ...requirement, key: NEW_ROLE } : requirement,
    ),
  });
  return {
    ...workload,
    // Pods that the new label selects already stay.
    nodeSelector: value === undefined ? others : { [NEW_ROLE]: value, ...others },
    nodeAffinity: workload.nodeAffinity?.map(rename),
  };
}

/** The taints that the controllers set on a node as soon as its labels match policies that require them. */
function taintsSetBy(policies: readonly Policy[], { labels, taints }: SchedulingNode, after: StringMap): Taint[] {
  const required = compilePolicies(policies)
    .taintPolicies.filter((policy) => isEnforced(policy) && policy.selectsNode(after) && !policy.selectsNode(labels))
    .flatMap(({ required }) => required)
    .filter(({ taint }) => {
      const isThere = taints.some((other) => taintIdentity(other) === taintIdentity(taint));
      return !isThere && !isTransientTaintKey(taint.key) && taint.effect !== 'NoExecute';
    })
    .map(({ taint }) => taint);
  return [...new Map(required.map((taint) => [taintIdentity(taint), taint])).values()];
}
