import { lettersIn, looksMisspelled } from '../kubernetes/misspelling.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { NodeView } from './node-view.ts';

/** The keys that nodes have. */
export interface NodeKeys {
  readonly labels: ReadonlySet<string>;
  readonly taints: ReadonlySet<string>;
}

export function keysOf(nodes: Iterable<NodeView>): NodeKeys {
  const { keys, add } = collectKeys();
  for (const node of nodes) add(node);
  return keys;
}

/** The keys of the nodes that were added. */
export function collectKeys(): { readonly keys: NodeKeys; add(node: NodeView): void } {
  const labels = new Set<string>();
  const taints = new Set<string>();
  return {
    keys: { labels, taints },
    add(node) {
      for (const key of Object.keys(node.labels)) labels.add(key);
      for (const { key } of node.taints) taints.add(key);
    },
  };
}

/** A key of a policy that looks misspelled: no node has it, and nodes have one that is almost the same. */
export interface Misspelling {
  /** For example `spec.taints[0].key`. */
  readonly field: string;
  readonly key: string;
  /** What it probably should be. */
  readonly meant: string;
  readonly of: 'label' | 'taint';
}

/** The keys of the policy that look misspelled, in words. */
export function misspelledKeys(policy: CompiledTaintPolicy, nodes: NodeKeys): string[] {
  return misspellingsIn(policy, nodes).map(
    ({ field, key, meant, of }) =>
      `${field}: ${of === 'label' ? 'no node has label' : 'no node carries a taint'} ${key}; did you mean ${meant}?`,
  );
}

export function misspellingsIn({ removalRules, nodeSelector }: CompiledTaintPolicy, nodes: NodeKeys): Misspelling[] {
  const [labelKeys, taintKeys] = [byLetters(nodes.labels), byLetters(nodes.taints)];
  // With NotIn or DoesNotExist, it is correct that no node has the label.
  const labels = requirementsOf(nodeSelector).filter(({ operator }) => operator === 'In' || operator === 'Exists');
  // A required taint comes from the policy itself.
  const exact = removalRules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Always');
  return [
    ...labels.flatMap(({ key }) =>
      misspelling({ field: 'spec.nodeSelector', key, of: 'label' }, nodes.labels, labelKeys),
    ),
    ...exact.flatMap(({ key, field }) =>
      misspelling({ field: `${field}.key`, key, of: 'taint' }, nodes.taints, taintKeys),
    ),
  ];
}

/** Nodes have thousands of keys: only those with about as many letters are compared. */
function byLetters(keys: ReadonlySet<string>): ReadonlyMap<number, readonly string[]> {
  return Map.groupBy(keys, lettersIn);
}

function misspelling(
  one: Omit<Misspelling, 'meant'>,
  known: ReadonlySet<string>,
  knownByLetters: ReadonlyMap<number, readonly string[]>,
): Misspelling[] {
  if (known.has(one.key)) return [];
  const letters = lettersIn(one.key);
  const near = [letters - 1, letters, letters + 1]
    .flatMap((count) => knownByLetters.get(count) ?? [])
    .filter((other) => looksMisspelled(one.key, other))
    .sort();
  return near.slice(0, 1).map((meant) => ({ ...one, meant }));
}
