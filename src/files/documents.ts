import { LineCounter, parseAllDocuments } from 'yaml';
import { formatPath, type Path } from '../policy/problem.ts';
import { GO_SCALARS } from './go-scalars.ts';
import { InputError } from './input-error.ts';
import { splitJsonStream, type TextPart } from './json-stream.ts';
import { TEMPLATE_ADVICE, templateAt } from './templates.ts';
import { checkContent, findNode, type Notation, notationOf, QUOTE_ADVICE, scalarOf } from './yaml-nodes.ts';

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

export interface ParseOptions {
  /** The text may contain secrets: errors quote nothing of it. */
  readonly secret?: boolean;
  /**
   * For a program that decodes by Go's YAML, as Talos does: keys are texts as written (`1.10`, `0x1F`, `True`), bytes and timestamps are texts, what
   * Go takes for a number is one (`0b101`, `1_000`; its value may differ), and the spelling of each scalar is known, however large the text is.
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
  const options = { merge: true, prettyErrors: false, uniqueKeys: false, ...(asWritten ? GO_SCALARS : {}) };
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

/** A text for the parser's code of a syntax error, because its messages quote the document. */
function withoutQuotes(code: string): string {
  return `this is no YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

const ALIAS_BOMB = 'too many aliases (*name), or aliases that cannot be followed';

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
