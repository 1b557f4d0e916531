import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type ParsedNode,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Path } from '../policy/problem.ts';

/** A scalar without quotes and tag, or a mapping with a merge key (`<<`), of one alias or of anything else. */
export type Notation = 'plain' | 'merged alias' | 'merged mappings';

/** Patterns begin with an asterisk, and so do YAML's aliases. */
export const QUOTE_ADVICE = 'a text that begins with "*" needs quotes';

/** The targets of a document's aliases. Resolving each alias by the package takes half a minute if there are 20,000. */
type Targets = ReadonlyMap<Alias, Node>;

interface Content {
  /** Errors that the parser accepts. */
  readonly faults: readonly { readonly offset: number; readonly message: string }[];
  readonly targets: Targets;
}

/** Checks the document in one pass. */
export function checkContent(
  document: Document.Parsed,
  { secret, asWritten }: { readonly secret: boolean; readonly asWritten: boolean },
): Content {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const merges: Pair[] = [];
  const faults: { offset: number; message: string }[] = [];
  const report = (node: unknown, message: string) =>
    faults.push({ offset: (node as Node | null)?.range?.[0] ?? 0, message });
  visit(document, {
    Value(_, node) {
      if (node.anchor) anchors.set(node.anchor, node);
      if (isMap(node)) checkKeys(node);
    },
    Alias(_, alias, above) {
      const { source } = alias;
      const target = anchors.get(source);
      if (target) targets.set(alias, target);
      // An alias without a name is a syntax error.
      else if (source !== '') report(alias, `${secret ? 'this alias' : `*${source}`} has no anchor: ${QUOTE_ADVICE}`);
      // The value would be infinite.
      if (above.some((node) => node === target)) report(alias, 'this alias leads into itself');
    },
  });
  // The targets of aliases are known now.
  for (const { key, value } of merges) {
    // An alias that is left has no anchor, which is reported as such.
    const isBroken = mergedNodes(value, targets).some((node) => !isMap(node) && !isAlias(node));
    if (isBroken) report(key, 'expected a mapping, an alias of one, or a list of these for "<<"');
  }
  return { faults, targets };

  function checkKeys({ items }: YAMLMap): void {
    // The parser would compare each key with every other one, which takes minutes for 100,000.
    const seen = new Set<unknown>();
    for (const pair of items) {
      const { key } = pair;
      // No object has a map, a list or bytes as a key, and the parser would write them to stderr with their content.
      if (!isTextKey(key)) report(key, 'expected a text for a key');
      if (!isScalar(key)) continue;
      if (isMerge(pair)) merges.push(pair);
      else if (asWritten) spellKey(key);
      const name = isMerge(pair) ? MERGE : key.value;
      if (seen.has(name)) report(key, 'Map keys must be unique');
      seen.add(name);
    }
  }

  function spellKey(key: Scalar): void {
    // Go's YAML leaves out an entry whose key is null.
    if (key.value === null) report(key, 'this key is null: put it in quotes');
    else if (typeof key.value !== 'string') key.value = key.source;
  }
}

function isTextKey(key: unknown): boolean {
  return isScalar(key) ? typeof key.value !== 'object' || key.value === null : key === null;
}

const MERGE = Symbol('<<');

/** Whether the key is `<<`, not in quotes, of which the parser makes a symbol. */
function isMerge({ key }: Pair): boolean {
  if (!isScalar(key)) return false;
  return typeof key.value === 'symbol' && key.value.description === '<<';
}

/** The mappings that a merge key adds, the first of which has precedence, or what stands in their place. */
function mergedNodes(value: unknown, targets: Targets): (Node | null | undefined)[] {
  const node = follow(value as Node | null, targets);
  return isSeq(node) ? node.items.map((item) => follow(item as Node | null, targets)) : [node];
}

function follow(node: Node | null | undefined, targets: Targets): Node | null | undefined {
  return isAlias(node) ? (targets.get(node) ?? node) : node;
}

export function scalarOf(node: Node | null | undefined): string | undefined {
  return isScalar(node) ? node.source : undefined;
}

export function notationOf(node: Node | null | undefined): Notation | undefined {
  if (isScalar(node)) return node.type === 'PLAIN' && node.tag === undefined ? 'plain' : undefined;
  const merge = isMap(node) ? mergeOf(node) : undefined;
  return merge && (isAlias(merge.value) ? 'merged alias' : 'merged mappings');
}

function mergeOf(map: YAMLMap): Pair | undefined {
  return map.items.filter(isPair).find(isMerge);
}

interface FoundNode {
  /** Undefined if the document does not have the whole path. */
  readonly node: Node | null | undefined;
  /** Where the longest existing part of the path leads: for a property, its key; for an item of a list, its start. `<<` may be a merge key. */
  readonly offset: number;
}

/** Follows aliases and looks through merge keys, so that each path of the document's value leads to the node that the value is of. */
export function findNode(root: ParsedNode, path: Path, targets: Targets): FoundNode {
  let node: Node | null | undefined = root;
  let offset = root.range[0];
  for (const part of path) {
    const below: Below | undefined = belowOf(node, part, targets);
    if (!below) return { node: undefined, offset };
    offset = below.place?.range?.[0] ?? offset;
    node = follow(below.node, targets);
  }
  return { node, offset };
}

interface Below {
  readonly place: Node | null;
  readonly node: Node | null;
}

function belowOf(node: Node | null | undefined, part: string | number, targets: Targets): Below | undefined {
  if (isMap(node)) {
    const pair = pairsOf(node, targets).get(String(part)) ?? (part === '<<' ? mergeOf(node) : undefined);
    return pair && { place: pair.key as Node | null, node: pair.value as Node | null };
  }
  // An index may be a text, as Object.entries gives it.
  if (!isSeq(node) || !/^\d+$/.test(String(part))) return undefined;
  const item = node.items[Number(part)] as Node | undefined;
  return item && { place: item, node: item };
}

const indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

/**
 * The pairs of a mapping by their keys, those of merge keys included: its own have precedence. Each mapping is indexed once, because one with a
 * hundred thousand keys may be searched for all of them.
 */
function pairsOf(map: YAMLMap, targets: Targets): ReadonlyMap<string, Pair> {
  const known = indexes.get(map);
  if (known) return known;
  const pairs = map.items.filter(isPair);
  const index = new Map(pairs.filter((pair) => !isMerge(pair)).map((pair) => [keyOf(pair), pair]));
  for (const node of pairs.filter(isMerge).flatMap(({ value }) => mergedNodes(value, targets))) {
    if (!isMap(node)) continue;
    for (const [key, pair] of pairsOf(node, targets)) if (!index.has(key)) index.set(key, pair);
  }
  indexes.set(map, index);
  return index;
}

/** The property that the package makes of a key. */
function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value ?? '') : '';
}
