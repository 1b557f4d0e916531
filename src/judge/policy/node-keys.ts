import type { NodeStatus, NodeView } from '../node-view.ts';

/** The most keys of nodes. Users who may write `nodes/status` can set any number of labels, and every pod can send a policy to compare with them. */
const MAX_KEYS = 2_000;

/** For example the labels or the taints that nodes have, by their keys. */
interface KnownKeys {
  add(key: string): void;
  /** Whether no node has the key. False if nodes have too many keys to say. */
  lacks(key: string): boolean;
  /** The first key that the key is a misspelling of. Undefined if nodes have the key, or too many keys to say. */
  meantBy(key: string): string | undefined;
}

/** Of a condition, the key is the type. Resources are those that `readyWhen` can name. */
export type KeyKind = 'label' | 'taint' | 'condition' | 'resource';

/** The keys that nodes have. */
export type NodeKeys = Readonly<Record<KeyKind, KnownKeys>>;

export function keysOf(nodes: Iterable<NodeView & NodeStatus>): NodeKeys {
  const { keys, add } = collectKeys();
  for (const node of nodes) add(node);
  return keys;
}

/** The keys of the nodes that were added. */
export function collectKeys(): { readonly keys: NodeKeys; add(node: NodeView & NodeStatus): void } {
  const keys = { label: knownKeys(), taint: knownKeys(), condition: knownKeys(), resource: knownKeys() };
  return {
    keys,
    add({ labels, taints, conditions = {}, resources = [] }) {
      for (const key of Object.keys(labels)) keys.label.add(key);
      for (const { key } of taints) keys.taint.add(key);
      for (const type of Object.keys(conditions)) keys.condition.add(type);
      for (const resource of resources) keys.resource.add(resource);
    },
  };
}

function knownKeys(): KnownKeys {
  const known = new Set<string>();
  let isComplete = true;
  /** By the number of letters, because only keys with about the same number are compared. */
  const byLength = new Map<number, { readonly key: string; readonly letters: string }[]>();
  const lacks = (key: string) => isComplete && !known.has(key);

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
    lacks,
    meantBy(key) {
      if (!lacks(key)) return undefined;
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
