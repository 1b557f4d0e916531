import { isPattern } from '../../kubernetes/pattern.ts';
import { requirementsOf } from '../../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy, UntilReadyTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import type { NodeStatus, NodeView } from '../node-view.ts';
import { type AgedNode, isPastStartup } from './past-startup.ts';

/** The most keys of nodes. Users who may write `nodes/status` can set any number of labels, and every pod can send a policy to compare with them. */
const MAX_KEYS = 2_000;
/** The most keys of a policy that are compared. A longer list was probably written by a program. */
const MAX_COMPARED = 32;

/** For example the labels or the taints that nodes have, by their keys. */
interface KnownKeys {
  add(key: string): void;
  /** Whether no node has the key. False if nodes have too many keys to say. */
  lacks(key: string): boolean;
  /** The first key that the key is a misspelling of. Undefined if nodes have the key, or too many keys to say. */
  meantBy(key: string): string | undefined;
}

/** Of a condition, the key is the type. Resources are those that `readyWhen` can name. */
type KeyKind = 'label' | 'taint' | 'condition' | 'resource';

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

/** A key that a policy names. */
interface NamedKey {
  /** For example `spec.taints[0].key`. */
  readonly field: string;
  readonly key: string;
  readonly of: KeyKind;
  /** The startup taint that waits for the condition or the resource. */
  readonly rule?: UntilReadyTaint;
}

/** A key of a policy that looks misspelled: no node has it, and nodes have one that is almost the same. */
interface Misspelling extends NamedKey {
  /** What it probably should be. */
  readonly meant: string;
}

/**
 * The keys of the policy that look misspelled, in words. Conditions and resources count only if a node of the policy {@link isPastStartup}: the first node
 * with them may not exist yet, or not be ready.
 * @param selected the nodes of the policy
 */
export function misspelledKeys(
  policy: CompiledTaintPolicy,
  nodes: NodeKeys,
  selected: readonly AgedNode[],
  now: Date,
): string[] {
  return misspellingsIn(policy, nodes)
    .filter(({ rule }) => rule === undefined || selected.some((node) => isPastStartup(node, rule, now)))
    .map(
      ({ field, key, meant, of }) =>
        `${field}: ${of === 'taint' ? 'no node carries a taint' : `no node has ${of}`} ${key}; did you mean ${meant}?`,
    );
}

export function misspellingsIn(policy: CompiledTaintPolicy, nodes: NodeKeys): Misspelling[] {
  const { protectionRules, nodeSelector } = policy;
  // With NotIn or DoesNotExist, it is correct that no node has the label.
  const labels = requirementsOf(nodeSelector).filter(({ operator }) => operator === 'In' || operator === 'Exists');
  // A required taint comes from the policy itself.
  const exact = protectionRules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Always');
  const named: readonly NamedKey[] = [
    ...labels.map(({ key }) => ({ field: 'spec.nodeSelector', key, of: 'label' as const })),
    ...exact.map(({ key, field }) => ({ field: `${field}.key`, key, of: 'taint' as const })),
  ];
  return [...named.slice(0, MAX_COMPARED), ...awaitedKeys(policy)].flatMap((one) => {
    const meant = nodes[one.of].meantBy(one.key);
    return meant === undefined ? [] : [{ ...one, meant }];
  });
}

/** The conditions and the resources of `readyWhen` that no node has and that do not look misspelled, in words. The first node with them may not exist yet. */
export function unseenKeys(policy: CompiledTaintPolicy, nodes: NodeKeys): string[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  return awaitedKeys(policy)
    .filter(({ key, of }) => nodes[of].lacks(key) && nodes[of].meantBy(key) === undefined)
    .map(({ key, of, rule }) => `no node has ${of} ${key} yet, for which ${rule.field} waits`);
}

function awaitedKeys({ untilReady }: CompiledTaintPolicy): (NamedKey & { readonly rule: UntilReadyTaint })[] {
  const all = untilReady.flatMap((rule) =>
    [
      ...rule.parts.conditions.map(({ type }, index) => ['condition', type, `conditions[${index}].type`] as const),
      ...rule.parts.allocatable.map(
        ({ resource }, index) => ['resource', resource, `allocatable[${index}].resource`] as const,
      ),
    ].map(([of, key, field]) => ({ of, key, field: `${rule.field}.readyWhen.${field}`, rule })),
  );
  return all.slice(0, MAX_COMPARED);
}
