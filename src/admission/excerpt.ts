import { createHash } from 'node:crypto';
import { READ_ANNOTATIONS } from '../judge/added-tolerations.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { MAX_TOLERATIONS } from '../judge/daemon-set.ts';
import { MAX_COMPARED } from '../judge/node-changes.ts';
import { oncePer } from '../runtime/once-per.ts';
import { MAX_GROUPS } from './review.ts';

/**
 * Which parts of a JSON value are kept:
 * - `scalar`: a string, number, boolean or null, or the SHA-256 of a long one. An empty list or map stands for one in its place.
 * - `digest`: the SHA-256 of a value that is longer than a SHA-256. The API server writes equal values as equal bytes.
 * - a list of such values;
 * - a map of strings with names that users choose, such as labels;
 * - a map with fields that Kubernetes defines. Some are kept, and the others are left out or digested.
 */
type Part = 'scalar' | 'digest' | ListPart | StringsPart | FieldsPart;

interface ListPart {
  readonly items: Part;
  /** The minimum that etcd needs for an item, without its text. */
  readonly bytes: number;
  /** Items beyond these are left out. */
  readonly most?: number;
  /**
   * For the same list of both objects. What the second one has in common with the first at the beginning and the end is left out, and added after
   * parsing.
   */
  readonly comparedIn?: ObjectName;
}

type ObjectName = 'object' | 'oldObject';

interface StringsPart {
  /** All others are left out. */
  readonly names: ReadonlySet<string>;
}

interface FieldsPart {
  readonly fields: readonly (readonly [name: string, part: Part])[];
  readonly others: 'digest' | undefined;
}

const isList = (part: Part): part is ListPart => typeof part === 'object' && 'items' in part;
const isStrings = (part: Part): part is StringsPart => typeof part === 'object' && 'names' in part;
const isFields = (part: Part): part is FieldsPart => typeof part === 'object' && 'fields' in part;

const fields = (kept: Readonly<Record<string, Part>>, others?: 'digest'): Part => ({
  fields: Object.entries(kept),
  others,
});

const scalars = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'scalar'] as const));

const ANNOTATIONS: ReadonlySet<string> = new Set([ALLOW_REMOVAL_ANNOTATION, ...READ_ANNOTATIONS]);

/** Nodes and DaemonSets: everything that the program reads of an object in a review. */
const objectWith = (labels: ReadonlySet<string>, comparedIn: ObjectName) =>
  fields({
    ...scalars('apiVersion', 'kind'),
    metadata: fields({
      ...scalars('name', 'generateName', 'namespace', 'uid', 'deletionTimestamp'),
      labels: { names: labels },
      annotations: { names: ANNOTATIONS },
    }),
    spec: fields({
      ...scalars('providerID'),
      // With a key of three characters and the effect NoExecute, a toleration has 20 bytes.
      taints: { items: fields(scalars('key', 'value', 'effect', 'timeAdded')), bytes: 16, comparedIn },
      // The program only checks whether the template has changed.
      template: fields(
        {
          spec: fields(
            {
              ...scalars('hostNetwork'),
              tolerations: {
                items: fields(scalars('key', 'operator', 'value', 'effect', 'tolerationSeconds')),
                bytes: 10,
                // If there are more, the program only reads that there are more.
                most: MAX_TOLERATIONS + 1,
              },
            },
            'digest',
          ),
        },
        'digest',
      ),
    }),
    status: fields({ nodeInfo: fields(scalars('systemUUID')) }),
  });

const reviewWith = oncePer((labels: ReadonlySet<string>) =>
  fields({
    ...scalars('apiVersion', 'kind'),
    request: fields({
      ...scalars('uid', 'subResource', 'name', 'namespace', 'operation', 'dryRun'),
      kind: fields(scalars('group', 'version', 'kind')),
      resource: fields(scalars('group', 'version', 'resource')),
      userInfo: fields({ ...scalars('username'), groups: { items: 'scalar', bytes: 0, most: MAX_GROUPS } }),
      object: objectWith(labels, 'object'),
      oldObject: objectWith(labels, 'oldObject'),
    }),
  }),
);

/**
 * The minimum that etcd would need for what is kept: two objects of 1.5 MiB, and the rest of the review. It bounds the time and the memory
 * that the excerpt takes: 24 bytes of V8's heap for each, measured with Node.js 24.
 */
const MAX_STORED_BYTES = 2 * 1.5 * 1024 * 1024 + 170 * 1024;

/** The API server writes a byte of text as at most six: `<` as `\u003c`. */
const JSON_BYTES_PER_BYTE = 6;

/** A longer text is no valid name, key or value. A `providerID` may have 1.5 MiB: its digest identifies it. */
const LONGEST_SCALAR_BYTES = 4_096 * JSON_BYTES_PER_BYTE;

/** The size of an entry of a map of strings, without its text. */
const ENTRY_BYTES = 8;

/** The number of fields that are not kept, in all maps. Kubernetes defines fewer than 200 where they are counted. */
const MAX_OTHER_FIELDS = 256;

/** The body has more than two objects that etcd accepts. */
export class ExcerptTooLargeError extends Error {
  override name = 'ExcerptTooLargeError';
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const LETTER_N = 0x6e;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Space, tab, line feed or carriage return. */
const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

const DIGEST_BYTES = 46;

/** The position of a list in the body. */
interface WrittenList {
  readonly of: ObjectName;
  /** The positions of the items. */
  readonly starts: readonly number[];
  /** The position of the closing bracket. */
  readonly end: number;
}

/** What the second of two lists of taints has in common with the first. */
interface Comparison {
  readonly begins: number;
  readonly ends: number;
  /** How many others the list of `oldObject` has, if they are too many to be compared. */
  readonly uncompared: number | undefined;
}

/**
 * In place of a taint of `oldObject` that is not compared: only the number of these counts, and that they differ. Those of `object` are read, because
 * labels and annotations are judged by them.
 */
const UNCOMPARED = { key: 'a', effect: '' };

/**
 * An AdmissionReview of a Node or DaemonSet with only the fields that this program reads. The time is linear in the body, and the memory is small: an
 * object may have hundreds of thousands of values that no code reads, in its status, its labels or its pod template.
 *
 * What is left out is not checked, except for the ends of strings and brackets. A name with an escape does not count as a kept one.
 *
 * @param body is overwritten
 * @param labels the names of the labels that policies read
 * @throws SyntaxError for invalid JSON or a field that occurs twice, ExcerptTooLargeError
 */
export function excerptOf(body: Buffer, labels: ReadonlySet<string>): unknown {
  let at = 0;
  /** How much of the body is overwritten with the excerpt, which is never longer than its source. */
  let written = 0;
  let stored = 0;
  let otherFields = 0;
  let first: WrittenList | undefined;
  let comparison: Comparison | undefined;

  keep(reviewWith(labels));
  space();
  if (at < body.length) throw unexpected(body, at);
  return parse();

  function parse(): unknown {
    if (!first || !comparison) return JSON.parse(body.toString('utf8', 0, written));
    const { begins, ends, uncompared } = comparison;
    const isOldFirst = first.of === 'oldObject';
    const [until, from] = uncompared === undefined || !isOldFirst ? [0, 0] : middleOf(first, begins, ends);
    const review = JSON.parse(body.toString('utf8', 0, until) + body.toString('utf8', from, written));
    const { spec: one } = review.request[first.of];
    const { spec: other } = review.request[isOldFirst ? 'object' : 'oldObject'];
    const beginning = one.taints.slice(0, begins);
    const end = one.taints.slice(one.taints.length - ends);
    const old = isOldFirst ? one : other;
    other.taints = [...beginning, ...other.taints, ...end];
    if (uncompared !== undefined) old.taints = [...beginning, ...Array(uncompared).fill(UNCOMPARED), ...end];
    return review;
  }

  /** Where the items lie that are neither among the first ones nor among the last ones, with a comma. */
  function middleOf({ starts, end }: WrittenList, begins: number, ends: number): [until: number, from: number] {
    const [until, from] = [starts[begins], starts[starts.length - ends]];
    if (until === undefined) return [end, end];
    if (from !== undefined) return [until, from];
    return [begins > 0 ? until - 1 : until, end];
  }

  function keep(part: Part): void {
    space();
    if (part === 'digest') keepDigest();
    else if (body[at] === OPENING_BRACE) {
      if (isFields(part)) keepFields(part);
      else if (isStrings(part)) keepStrings(part);
      else keepEmpty('{}');
    } else if (body[at] === OPENING_BRACKET) {
      if (isList(part)) keepItems(part);
      else keepEmpty('[]');
    } else {
      const start = at;
      at = endOfValue(body, at);
      spend((at - start) / JSON_BYTES_PER_BYTE);
      copyOrDigest(start, LONGEST_SCALAR_BYTES);
    }
  }

  function keepEmpty(text: '{}' | '[]'): void {
    at = endOfValue(body, at);
    write(text);
  }

  function keepFields({ fields: known, others }: FieldsPart): void {
    write('{');
    at++;
    /** A bit for each of the known ones. */
    let kept = 0;
    for (let more = !closes(CLOSING_BRACE); more; more = goesOn(CLOSING_BRACE)) {
      space();
      const start = at;
      const end = passName();
      const place = placeOf(known, start + 1, end - 1);
      const part = known[place]?.[1] ?? others;
      if (place === -1) {
        if (++otherFields > MAX_OTHER_FIELDS) throw new ExcerptTooLargeError();
      } else if (kept & (1 << place)) throw new SyntaxError(`field "${known[place]?.[0]}" stands there twice`);
      else kept |= 1 << place;
      if (part === undefined) {
        space();
        at = endOfValue(body, at);
        continue;
      }
      if (body[written - 1] !== OPENING_BRACE) write(',');
      copy(start, at);
      keep(part);
    }
    write('}');
  }

  function keepStrings({ names }: StringsPart): void {
    write('{');
    at++;
    const kept = new Set<string>();
    for (let more = !closes(CLOSING_BRACE); more; more = goesOn(CLOSING_BRACE)) {
      space();
      const start = at;
      const end = passName();
      space();
      const value = at;
      at = endOfValue(body, at);
      spend(ENTRY_BYTES + (at - start) / JSON_BYTES_PER_BYTE);
      const name = body.toString('latin1', start + 1, end - 1);
      const isString = body[value] === QUOTE;
      const isNull = body[value] === LETTER_N;
      // An unexpected value is kept so far that it can be recognized.
      if (names.has(name) || (!isString && !isNull && kept.size <= names.size)) {
        if (kept.has(name)) throw new SyntaxError('a label or annotation stands there twice');
        kept.add(name);
        if (body[written - 1] !== OPENING_BRACE) write(',');
        copy(start, at);
      }
    }
    write('}');
  }

  function keepItems({ items, bytes, most = Number.POSITIVE_INFINITY, comparedIn }: ListPart): void {
    write('[');
    at++;
    const compared = comparedIn && first;
    let begins = 0;
    /** The positions of the kept items. */
    const starts: number[] = [];
    for (let more = !closes(CLOSING_BRACKET); more; more = goesOn(CLOSING_BRACKET)) {
      if (starts.length === most) {
        at = endOfValue(body, at, 1);
        break;
      }
      const before = written;
      if (starts.length > 0) write(',');
      const start = written;
      spend(bytes);
      keep(items);
      if (compared && starts.length === 0 && isCopy(compared, begins, start, written)) {
        begins++;
        written = before;
      } else starts.push(start);
    }
    if (compared) written = withoutEqualEnd(compared, begins, starts);
    else if (comparedIn) first = { of: comparedIn, starts, end: written };
    write(']');
  }

  /** Records what the second list has in common with the first one, which begins in the same way. Returns the end of what is left of it. */
  function withoutEqualEnd(one: WrittenList, begins: number, starts: readonly number[]): number {
    const end = written;
    const most = Math.min(starts.length, one.starts.length - begins);
    let ends = 0;
    let until = end;
    for (; ends < most; ends++) {
      const start = starts[starts.length - 1 - ends] as number;
      if (!isCopy(one, one.starts.length - 1 - ends, start, until)) break;
      // Without the comma before it.
      until = ends + 1 < starts.length ? start - 1 : start;
    }
    const [besides, ownBesides] = [one.starts.length - begins - ends, starts.length - ends];
    const isTooLong = Math.max(besides, ownBesides) > MAX_COMPARED;
    const isOldFirst = one.of === 'oldObject';
    comparison = { begins, ends, uncompared: isTooLong ? (isOldFirst ? besides : ownBesides) : undefined };
    return isTooLong && !isOldFirst ? (starts[0] ?? end) : until;
  }

  /** Whether this item of the list, if there is one, has the same bytes as the given one. */
  function isCopy({ starts, end }: WrittenList, place: number, start: number, until: number): boolean {
    const from = starts[place];
    if (from === undefined || (starts[place + 1] ?? end + 1) - 1 - from !== until - start) return false;
    for (let index = 0; index < until - start; index++) if (body[from + index] !== body[start + index]) return false;
    return true;
  }

  function keepDigest(): void {
    const start = at;
    at = endOfValue(body, at);
    copyOrDigest(start, DIGEST_BYTES);
  }

  /** Copies the value that ends here, or its digest if it has more than so many bytes. */
  function copyOrDigest(start: number, most: number): void {
    if (at - start <= most) copy(start, at);
    else write(`"${createHash('sha256').update(body.subarray(start, at)).digest('base64')}"`);
  }

  /** Skips a name and the colon after it. Returns the end of the name. */
  function passName(): number {
    if (body[at] !== QUOTE) throw unexpected(body, at);
    const end = endOfString(body, at);
    at = end;
    space();
    if (body[at] !== COLON) throw unexpected(body, at);
    at++;
    return end;
  }

  /** Whether a list or map ends here, before its first item. */
  function closes(bracket: number): boolean {
    space();
    if (body[at] !== bracket) return false;
    at++;
    return true;
  }

  /** Whether another item follows. */
  function goesOn(bracket: number): boolean {
    space();
    const byte = body[at];
    if (byte !== COMMA && byte !== bracket) throw unexpected(body, at);
    at++;
    return byte === COMMA;
  }

  function space(): void {
    while (isSpace(body[at])) at++;
  }

  function copy(start: number, end: number): void {
    // For a few bytes, the call would take longer than the loop.
    if (end - start > 64) {
      body.copyWithin(written, start, end);
      written += end - start;
    } else for (let from = start; from < end; from++) body[written++] = body[from] as number;
  }

  function write(text: string): void {
    for (let index = 0; index < text.length; index++) body[written++] = text.charCodeAt(index);
  }

  function spend(bytes: number): void {
    stored += bytes;
    if (stored > MAX_STORED_BYTES) throw new ExcerptTooLargeError();
  }

  /** Compares bytes of the name, because creating a string for each of millions of names would take too long. */
  function placeOf(known: FieldsPart['fields'], start: number, end: number): number {
    for (let place = 0; place < known.length; place++) {
      const name = known[place]?.[0] ?? '';
      if (name.length === end - start && stands(name, start)) return place;
    }
    return -1;
  }

  function stands(name: string, start: number): boolean {
    for (let index = 0; index < name.length; index++) {
      if (body[start + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }
}

/**
 * The end of the value that begins here.
 * @param depth the number of enclosing lists and maps of which the value is the outermost
 */
function endOfValue(body: Buffer, start: number, depth = 0): number {
  let open = depth;
  let at = start;
  do {
    const byte = body[at];
    if (byte === undefined) throw unexpected(body, at);
    if (byte === QUOTE) at = endOfString(body, at);
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      open++;
      at++;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
      if (open === 0) throw unexpected(body, at);
      open--;
      at++;
    } else if (open > 0) at++;
    else at = endOfWord(body, at);
  } while (open > 0);
  return at;
}

function endOfString(body: Buffer, start: number): number {
  let at = start + 1;
  for (let byte = body[at]; byte !== QUOTE; byte = body[at]) {
    if (byte === undefined) throw unexpected(body, at);
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

/** The end of a number, `true`, `false` or `null`. */
function endOfWord(body: Buffer, start: number): number {
  let at = start;
  while (at < body.length && !isDelimiter(body[at])) at++;
  if (at === start) throw unexpected(body, at);
  return at;
}

function unexpected(body: Buffer, at: number): SyntaxError {
  return new SyntaxError(at >= body.length ? 'unexpected end' : `unexpected byte at position ${at}`);
}

function isDelimiter(byte: number | undefined): boolean {
  return (
    byte === COMMA ||
    byte === COLON ||
    byte === QUOTE ||
    byte === CLOSING_BRACE ||
    byte === CLOSING_BRACKET ||
    isSpace(byte)
  );
}
