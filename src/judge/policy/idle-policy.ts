import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { count } from '../../text/counts.ts';
import type { NodeView } from '../node-view.ts';
import { misspellingsIn, unseenKeys } from './misspelled-keys.ts';
import type { NodeKeys } from './node-keys.ts';

// A policy that does nothing at present: it names keys that look misspelled, selects no node, or protects no taint that a node has.

/**
 * Short warnings on apply: about keys that look misspelled, about a policy that selects no node unless a misspelled label explains it, and about
 * conditions and resources that no node has. None while there are no nodes.
 * @param keys those of all nodes
 */
export function idleWarnings(
  policy: CompiledTaintPolicy,
  keys: NodeKeys,
  nodes: { readonly selected: number; readonly all: number },
): string[] {
  const misspelled = misspellingsIn(policy, keys);
  const isExplained = misspelled.some(({ of }) => of === 'label');
  return [
    ...misspelled.map(
      ({ key, meant, of }) => `no node ${of === 'taint' ? 'carries' : `has ${of}`} ${key}; did you mean ${meant}?`,
    ),
    ...(isExplained || nodes.selected > 0 ? [] : selectsNone(nodes.all)),
    ...(nodes.all === 0 ? [] : unseenKeys(policy, keys)),
  ];
}

/**
 * Notes for the author of a policy that selects no node at present, or protects no taint of the selected nodes.
 * @param nodes the number of all nodes
 */
export function idleNotes(
  { protectionRules, required, protectingRule }: CompiledTaintPolicy,
  selected: readonly NodeView[],
  nodes: number,
): string[] {
  if (selected.length === 0) return selectsNone(nodes);
  const needsNoCarriedTaint = protectionRules.length === 0 || required.length > 0;
  const holds = ({ taints }: NodeView) => taints.some((taint) => protectingRule(taint) !== undefined);
  return needsNoCarriedTaint || selected.some(holds)
    ? []
    : ['no selected node carries a taint that the policy protects'];
}

/** The note for a policy that selects no node. The policy has a selector: without one, it would select every node. */
function selectsNone(nodes: number): string[] {
  return nodes === 0 ? [] : [`spec.nodeSelector selects none of ${count(nodes, 'node')}`];
}
