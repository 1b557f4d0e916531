import { isPattern } from '../../kubernetes/pattern.ts';
import { requirementsOf } from '../../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import type { NodeView } from '../node-view.ts';

/** The most keys of nodes. Users who may write `nodes/status` can set any number of labels, and every pod can send a policy to compare with them. */
const MAX_KEYS = 2_000;
/** The most keys of a policy that are compared. A longer list was probably written by a program. */
const MAX_COMPARED = 32;

/** The labels or the taints that nodes have, by their keys. */
interface KnownKeys {
  add(key: string): void;
  /** The first key that the key is a misspelling of. Undefined if nodes have the key, or too many keys to say. */
  meantBy(key: string): string | undefined;
}

/** The keys that nodes have. */
export interface NodeKeys {
  readonly labels: KnownKeys;
  readonly taints: KnownKeys;
}

export function keysOf(nodes: Iterable<NodeView>): NodeKeys {
  const { keys, add } = collectKeys();
  for (const node of nodes) add(node);
  return keys;
}

/** The keys of the nodes that were added. */
export function collectKeys(): { readonly keys: NodeKeys; add(node: NodeView): void } {
  const keys = { labels: knownKeys(), taints: knownKeys() };
  return {
    keys,
    add(node) {
      for (const key of Object.keys(node.labels)) keys.labels.add(key);
      for (const { key } of node.taints) keys.taints.add(key);
    },
  };
}

function knownKeys(): KnownKeys {
  const known = new Set<string>();
  let isComplete = true;
  /** By the number of letters, because only keys with about the same number are compared. */
  const byLength = new Map<number, { readonly key: string; readonly letters: string }[]>();

  return {
    add(key) {
      if (known.has(key)) return;
      isComplete &&= known.size < MAX_KEYS;
      if (!isComplete) return;
      known.add(key);
      const letters = lettersOf(key);
      const alike = byLength.get(letters.length) ?? [];
      byLength.set(letters.length, alike);
      alike.push({ key, letters });
    },
    meantBy(key) {
      if (!isComplete || known.has(key)) return undefined;
      const letters = lettersOf(key);
      return [letters.length - 1, letters.length, letters.length + 1]
        .flatMap((length) => byLength.get(length) ?? [])
        .filter((other) => looksMisspelled(letters, other.letters))
        .map((other) => other.key)
        .sort()
        .at(0);
    },
  };
}

/** The characters of a text that {@link looksMisspelled} compares. The numbers of two such texts differ by one at most. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[-_.]/g, '');
}

/**
 * Whether two texts differ only by case and separators, by one letter that one of them lacks, or by two swapped letters. Texts that differ by
 * a replaced letter or digit are different names: `pool-a` and `pool-b`.
 * @param first its {@link lettersOf}
 * @param second its {@link lettersOf}
 */
function looksMisspelled(first: string, second: string): boolean {
  if (first === second) return true;
  const [a, b] = first.length < second.length ? [first, second] : [second, first];
  let from = 0;
  while (from < a.length && a.charCodeAt(from) === b.charCodeAt(from)) from++;
  if (b.length === a.length + 1) return /[a-z]/.test(b[from] ?? '') && a.slice(from) === b.slice(from + 1);
  return a[from] === b[from + 1] && a[from + 1] === b[from] && a.slice(from + 2) === b.slice(from + 2);
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

export function misspellingsIn({ protectionRules, nodeSelector }: CompiledTaintPolicy, nodes: NodeKeys): Misspelling[] {
  // With NotIn or DoesNotExist, it is correct that no node has the label.
  const labels = requirementsOf(nodeSelector).filter(({ operator }) => operator === 'In' || operator === 'Exists');
  // A required taint comes from the policy itself.
  const exact = protectionRules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Always');
  return [
    ...labels.map(({ key }) => ({ field: 'spec.nodeSelector', key, of: 'label' as const })),
    ...exact.map(({ key, field }) => ({ field: `${field}.key`, key, of: 'taint' as const })),
  ]
    .slice(0, MAX_COMPARED)
    .flatMap((one) => {
      const meant = (one.of === 'label' ? nodes.labels : nodes.taints).meantBy(one.key);
      return meant === undefined ? [] : [{ ...one, meant }];
    });
}
