import {
  type Document,
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
  visit,
  type YAMLMap,
} from 'yaml';
import { formatPath, type Path } from '../policy/problem.ts';
import { splitJsonStream, type TextPart } from './json-stream.ts';
import { InputError, listFiles, readText, sourceName } from './text-files.ts';

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
  /** A number, boolean or text as written, without quotes: `1.10`, not 1.1. Undefined if that is not known. */
  scalar(path: Path): string | undefined;
}

/** `file:line:column: field` of a path, or the place alone for the whole document. */
export function locateField(document: SourceDocument, path: Path): string {
  return [document.locate(path), formatPath(path)].filter(Boolean).join(': ');
}

/** YAML's parser keeps every token. A larger JSON text is read by the engine's own parser, without positions. */
const LARGE_JSON_CHARACTERS = 1_000_000;

/** A text that is not YAML has an error in every line. */
const MAX_FAULTS = 20;

/** Limits the number of values that aliases (`*name`) can expand to. */
const MAX_ALIASES = 100;

/**
 * Parses YAML, one or many documents, or JSON, one or many objects in a row. Documents without content are left out.
 * @param source names the text in locations
 * @param secret the text may contain secrets: errors quote nothing of it
 * @throws InputError with the place of each syntax error, or one line for a template of Go or Helm
 */
export function parseDocuments(contents: string, source: string, { secret = false } = {}): SourceDocument[] {
  const text = contents.replace(/^\uFEFF/, '');
  const at = placesIn(text, source);
  const parts = splitJsonStream(text);
  const isLarge = text.length > LARGE_JSON_CHARACTERS;
  const read = parts.map((part): Parsed => {
    if (isLarge && part.isJson) return { found: [largeJson(part.text, at(part.offset))], faults: [] };
    if (isLarge && parts.length === 1 && /^\s*[{[]/.test(text)) return parseLargeJson(text, source, secret);
    return parsePart(part, at, secret);
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
function parsePart({ text, offset }: TextPart, placeOf: (offset: number) => string, secret: boolean): Parsed {
  const at = (inPart: number) => placeOf(offset + inPart);
  const faults: string[] = [];
  const found: SourceDocument[] = [];
  for (const document of parseAllDocuments(text, { merge: true, prettyErrors: false, uniqueKeys: false })) {
    for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
      faults.push(`${at(pos[0])}: ${code === 'BAD_ALIAS' ? QUOTE_ADVICE : secret ? withoutQuotes(code) : message}`);
    }
    for (const { offset, message } of contentFaults(document, secret)) faults.push(`${at(offset)}: ${message}`);
    if (faults.length > 0 || document.contents === null) continue;
    const { contents } = document;
    try {
      const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
      if (value === null) continue;
      found.push({
        value,
        locate: (path) => at(offsetOf(contents, path)),
        scalar: (path) => scalarOf(contents, path),
      });
    } catch (error) {
      faults.push(`${at(contents.range[0])}: ${secret ? ALIAS_BOMB : (error as Error).message}`);
    }
  }
  return { found, faults };
}

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

/** Errors that the parser accepts, in one pass over the document. */
function contentFaults(document: Document.Parsed, secret: boolean): { offset: number; message: string }[] {
  const anchors = new Map<string, unknown>();
  const faults: { offset: number; message: string }[] = [];
  const report = (node: unknown, message: string) => faults.push({ offset: (node as Node).range?.[0] ?? 0, message });
  visit(document, {
    Value(_, node) {
      if (node.anchor) anchors.set(node.anchor, node);
      if (isMap(node)) checkKeys(node);
    },
    Alias(_, alias, above) {
      const { source } = alias;
      const target = anchors.get(source);
      // Resolving the alias takes half a minute if there are 20,000. An alias without a name is a syntax error.
      if (source !== '' && !target)
        report(alias, `${secret ? 'this alias' : `*${source}`} has no anchor: ${QUOTE_ADVICE}`);
      // The value would be infinite.
      if (above.some((node) => node === target)) report(alias, 'this alias leads into itself');
    },
  });
  return faults;

  function checkKeys({ items }: YAMLMap): void {
    // The parser would compare each key with every other one, which takes minutes for 100,000.
    const seen = new Set<unknown>();
    for (const { key } of items) {
      // No object has a map, a list or bytes as a key, and the parser would write them to stderr with their content.
      if (!isTextKey(key)) report(key, 'expected a text for a key');
      if (!isScalar(key)) continue;
      if (seen.has(key.value)) report(key, 'Map keys must be unique');
      seen.add(key.value);
    }
  }
}

function isTextKey(key: unknown): boolean {
  return isScalar(key) ? typeof key.value !== 'object' || key.value === null : key === null;
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
  return { value: JSON.parse(text), locate: () => place, scalar: () => undefined };
}

function scalarOf(root: ParsedNode, path: Path): string | undefined {
  let node: Node | null | undefined = root;
  for (const part of path) {
    if (isMap(node)) node = pairOf(node, String(part))?.value as Node | null | undefined;
    else if (isSeq(node) && typeof part === 'number') node = node.items[part] as Node | undefined;
    else return undefined;
  }
  return isScalar(node) ? node.source : undefined;
}

/** Where the path leads: for a property, its key; for an item of a list, its start. */
function offsetOf(root: ParsedNode, path: Path): number {
  let node: Node | null | undefined = root;
  let offset = root.range[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = pairOf(node, String(part));
      if (!pair) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (typeof part === 'number' && node && 'items' in node) {
      const item: Node | undefined = (node.items as Node[])[part];
      if (!item) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else {
      break;
    }
  }
  return offset;
}

const indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

/** Each mapping is indexed once: one with a hundred thousand keys may be searched for all of them. */
function pairOf(map: YAMLMap, key: string): Pair | undefined {
  const index = indexes.get(map) ?? new Map(map.items.filter(isPair).map((pair) => [keyOf(pair), pair]));
  indexes.set(map, index);
  return index.get(key);
}

function keyOf({ key }: Pair): string {
  return String(typeof key === 'object' && key !== null && 'value' in key ? key.value : key);
}
