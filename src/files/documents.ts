import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  visit,
  type YAMLMap,
} from 'yaml';
import { formatPath, type Path } from '../policy/problem.ts';
import { InputError } from './input-error.ts';
import { splitJsonStream, type TextPart } from './json-stream.ts';
import { listFiles, readText, sourceName } from './text-files.ts';

/**
 * Options of the package yaml for files of other tools. kubectl and Talos read YAML 1.1, where `yes`, `on` and `1_000` are not texts unless they are
 * quoted: a taint's value or an object's name may be one of them.
 */
export const KUBECTL_YAML = { compat: 'yaml-1.1' } as const;

/** One document of a YAML stream, or a JSON text. */
export interface SourceDocument {
  readonly value: unknown;
  /** `file:line:column` of the path's target, or of the nearest existing parent. */
  locate(path: Path): string;
  /**
   * A number, boolean or text as written, without quotes: `1.10`, not 1.1. Undefined for what is no scalar, and if the spelling is not known, as in a
   * large JSON text without {@link ParseOptions.asWritten}.
   */
  scalar(path: Path): string | undefined;
  /** How YAML writes the value. Undefined for any other notation, and if it is not known. */
  notation(path: Path): Notation | undefined;
}

/** A scalar without quotes and tag, or a mapping with a merge key (`<<`), of one alias or of anything else. */
export type Notation = 'plain' | 'merged alias' | 'merged mappings';

export interface ParseOptions {
  /** The text may contain secrets: errors quote nothing of it. */
  readonly secret?: boolean;
  /**
   * For a program that decodes into texts, as Talos does: keys are texts as written (`1.10`, `0x1F`, `True`), bytes and timestamps are texts, and the
   * spelling of each scalar is known, however large the text is.
   */
  readonly asWritten?: boolean;
}

/** `file:line:column: field` of a path, or the place alone for the whole document. */
export function locateField(document: SourceDocument, path: Path): string {
  return [document.locate(path), formatPath(path)].filter(Boolean).join(': ');
}

/** YAML's parser keeps every token. A larger JSON text is read by the engine's own parser, without positions and spellings. */
const LARGE_JSON_CHARACTERS = 1_000_000;

/** A text that is not YAML has an error in every line. */
const MAX_FAULTS = 20;

/** Limits the number of values that aliases (`*name`) can expand to. */
const MAX_ALIASES = 100;

/**
 * Parses YAML, one or many documents, or JSON, one or many objects in a row. Documents without content are left out.
 * @param source names the text in locations
 * @throws InputError with the place of each syntax error, or one line for a template of Go or Helm
 */
export function parseDocuments(contents: string, source: string, options: ParseOptions = {}): SourceDocument[] {
  const { secret = false, asWritten = false } = options;
  const text = contents.replace(/^\uFEFF/, '');
  const at = placesIn(text, source);
  const parts = splitJsonStream(text);
  const isLarge = !asWritten && text.length > LARGE_JSON_CHARACTERS;
  const read = parts.map((part): Parsed => {
    if (isLarge && part.isJson) return { found: [largeJson(part.text, at(part.offset))], faults: [] };
    if (isLarge && parts.length === 1 && /^\s*[{[]/.test(text)) return parseLargeJson(text, source, secret);
    return parsePart(part, at, { secret, asWritten });
  });
  const faults = read.flatMap((each) => each.faults);
  if (faults.length === 0) return read.flatMap(({ found }) => found);
  const template = isLarge ? undefined : templateAt(text);
  if (template !== undefined) throw new InputError([`${at(template)}: ${TEMPLATE_ADVICE}`]);
  if (faults.length > MAX_FAULTS)
    faults.splice(MAX_FAULTS, Infinity, `${source}: and ${faults.length - MAX_FAULTS} more`);
  throw new InputError(faults);
}

/** `file:line:column` of an offset. */
function placesIn(text: string, source: string): (offset: number) => string {
  const lines = new LineCounter();
  for (let start = 0; start !== -1; ) {
    lines.addNewLine(start);
    const end = text.indexOf('\n', start);
    start = end === -1 ? -1 : end + 1;
  }
  return (offset) => {
    const { line, col } = lines.linePos(offset);
    return `${source}:${line}:${col}`;
  };
}

interface Parsed {
  readonly found: readonly SourceDocument[];
  readonly faults: readonly string[];
}

/** @param placeOf `file:line:column` of an offset in the whole text */
function parsePart(
  { text, offset }: TextPart,
  placeOf: (offset: number) => string,
  { secret, asWritten }: Required<ParseOptions>,
): Parsed {
  const at = (inPart: number) => placeOf(offset + inPart);
  const faults: string[] = [];
  const found: SourceDocument[] = [];
  const options = { merge: true, prettyErrors: false, uniqueKeys: false, ...(asWritten ? AS_WRITTEN : {}) };
  for (const document of parseAllDocuments(text, options)) {
    for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
      faults.push(`${at(pos[0])}: ${code === 'BAD_ALIAS' ? QUOTE_ADVICE : secret ? withoutQuotes(code) : message}`);
    }
    const content = checkContent(document, { secret, asWritten });
    for (const { offset, message } of content.faults) faults.push(`${at(offset)}: ${message}`);
    if (faults.length > 0 || document.contents === null) continue;
    const { contents } = document;
    try {
      const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
      if (value === null) continue;
      found.push({
        value,
        locate: (path) => at(findNode(contents, path, content.targets).offset),
        scalar: (path) => scalarOf(findNode(contents, path, content.targets).node),
        notation: (path) => notationOf(findNode(contents, path, content.targets).node),
      });
    } catch (error) {
      faults.push(`${at(contents.range[0])}: ${secret ? ALIAS_BOMB : (error as Error).message}`);
    }
  }
  return { found, faults };
}

/** Tags of YAML whose values are no JSON, as Go decodes them into a text. */
const TEXT_TAGS: ScalarTag[] = [
  { tag: 'tag:yaml.org,2002:binary', resolve: (source) => Buffer.from(source, 'base64').toString('utf8') },
  { tag: 'tag:yaml.org,2002:timestamp', resolve: (source) => source },
];

// Without the other tags, whose values are no JSON either: a set would be read as an empty mapping.
const AS_WRITTEN = { customTags: TEXT_TAGS, resolveKnownTags: false };

export const TEMPLATE_ADVICE = 'this is a template: render it first, for example with helm template';

/** Where the first action of a Go or Helm template is; undefined for none. Texts in quotes, comments and block scalars may contain braces. */
function templateAt(text: string): number | undefined {
  let offset = 0;
  let before = '';
  for (const token of new Lexer().lex(text)) {
    if (token === '{' && before === '{') return offset - 1;
    before = token;
    if (!MARKS.includes(token)) offset += token.length;
  }
  return undefined;
}

/** Tokens of the lexer that stand for no character: the start of a document, the end of a broken flow collection, and the start of a scalar. */
const MARKS = ['\u0002', '\u0018', '\u001F'];

/**
 * The documents of named files and directories, see {@link listFiles}.
 * @throws InputError
 */
export async function readDocuments(paths: readonly string[]): Promise<SourceDocument[]> {
  const files = await listFiles(paths);
  const read = files.map(async (file) => parseDocuments(await readText(file), sourceName(file)));
  return (await Promise.all(read)).flat();
}

/** What was read of files. */
export interface FilesRead<T> {
  /** One for each file that could be read, in order. */
  readonly found: readonly T[];
  /** One line for each problem of the others. */
  readonly faults: readonly string[];
}

/**
 * Reads the documents of each file, see {@link listFiles}. A file that cannot be read does not hide the others.
 * @param read may throw InputError
 * @throws InputError if a path does not exist, or no file could be read
 */
export async function readEachFile<T>(
  paths: readonly string[],
  read: (documents: readonly SourceDocument[]) => T,
): Promise<FilesRead<T>> {
  const files = await listFiles(paths);
  const found: T[] = [];
  const faults: string[] = [];
  for (const file of files) {
    try {
      found.push(read(parseDocuments(await readText(file), sourceName(file))));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
    }
  }
  if (found.length === 0 && faults.length > 0) throw new InputError(faults);
  return { found, faults };
}

/** A text for the parser's code of a syntax error, because its messages quote the document. */
function withoutQuotes(code: string): string {
  return `this is no YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

const ALIAS_BOMB = 'too many aliases (*name), or aliases that cannot be followed';

/** Patterns begin with an asterisk, and so do YAML's aliases. */
const QUOTE_ADVICE = 'a text that begins with "*" needs quotes';

/** The targets of a document's aliases. Resolving each alias by the package takes half a minute if there are 20,000. */
type Targets = ReadonlyMap<Alias, Node>;

interface Content {
  /** Errors that the parser accepts. */
  readonly faults: readonly { readonly offset: number; readonly message: string }[];
  readonly targets: Targets;
}

/** Checks the document in one pass. */
function checkContent(document: Document.Parsed, { secret, asWritten }: Required<ParseOptions>): Content {
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

function parseLargeJson(text: string, source: string, secret: boolean): Parsed {
  try {
    return { found: [largeJson(text, source)], faults: [] };
  } catch (error) {
    return { found: [], faults: [`${source}: ${secret ? 'this is no JSON' : (error as Error).message}`] };
  }
}

/** @throws SyntaxError */
function largeJson(text: string, place: string): SourceDocument {
  return unlocatedDocument(JSON.parse(text), place);
}

/** A document of whose parts neither the positions nor the spellings are known: all are said to be at the place. */
export function unlocatedDocument(value: unknown, place: string): SourceDocument {
  return { value, locate: () => place, scalar: () => undefined, notation: () => undefined };
}

function scalarOf(node: Node | null | undefined): string | undefined {
  return isScalar(node) ? node.source : undefined;
}

function notationOf(node: Node | null | undefined): Notation | undefined {
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
function findNode(root: ParsedNode, path: Path, targets: Targets): FoundNode {
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
