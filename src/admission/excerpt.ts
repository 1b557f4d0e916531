import { createHash } from 'node:crypto';

/**
 * What of a JSON value is kept:
 * - `scalar`: a string, number, boolean or null. A list or map in its place is kept empty.
 * - `map`: a map of scalars, such as labels.
 * - `digest`: its SHA-256, in place of what is longer than that. The API server writes equal values as equal bytes.
 * - a list of something;
 * - a map of which some members are kept, and the others left out or digested.
 */
type Part = 'scalar' | 'map' | 'digest' | ListPart | MembersPart;

interface ListPart {
  readonly items: Part;
}

interface MembersPart {
  readonly members: readonly (readonly [name: string, part: Part])[];
  /** Undefined: left out. */
  readonly others: Part | undefined;
}

const isList = (part: Part): part is ListPart => typeof part === 'object' && 'items' in part;
const isMembers = (part: Part): part is MembersPart => typeof part === 'object' && 'members' in part;

const members = (kept: Readonly<Record<string, Part>>, others?: 'digest'): Part => ({
  members: Object.entries(kept),
  others,
});
const list = (items: Part): Part => ({ items });

const scalars = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'scalar'] as const));

/** Nodes and DaemonSets: all that anything in this program reads of one in a review. */
const OBJECT = members({
  ...scalars('apiVersion', 'kind'),
  metadata: members({
    ...scalars('name', 'generateName', 'namespace', 'uid', 'deletionTimestamp'),
    labels: 'map',
    annotations: 'map',
  }),
  spec: members({
    ...scalars('providerID'),
    taints: list(members(scalars('key', 'value', 'effect', 'timeAdded'))),
    // Of the template it is read whether it has changed.
    template: members(
      {
        spec: members(
          {
            ...scalars('hostNetwork'),
            tolerations: list(members(scalars('key', 'operator', 'value', 'effect', 'tolerationSeconds'))),
          },
          'digest',
        ),
      },
      'digest',
    ),
  }),
  status: members({ nodeInfo: members(scalars('systemUUID')) }),
});

const REVIEW = members({
  ...scalars('apiVersion', 'kind'),
  request: members({
    ...scalars('uid', 'subResource', 'name', 'namespace', 'operation', 'dryRun'),
    kind: 'map',
    resource: 'map',
    userInfo: members({ ...scalars('username'), groups: list('scalar') }),
    object: OBJECT,
    oldObject: OBJECT,
  }),
});

/**
 * What the parsed excerpt may take of V8's heap, by {@link COSTS}. etcd accepts 1.5 MiB: the most that comes of two such objects is 73 MiB,
 * for a `providerID` of characters that are six bytes in JSON; 350,000 labels take 56 MiB.
 */
const MAX_COST = 80 * 1024 * 1024;

/** Bytes of V8's heap, as measured with Node.js 24: what `JSON.parse` makes of the worst kind of each. */
const COSTS = {
  /** Of a byte of text: where there is a character beyond Latin-1, the text takes two bytes, and so does its copy. */
  byte: 4,
  /** Of a member of a `map`: the place in a hash table, and two strings without their characters. */
  member: 130,
  /** Of an item of a list, or of a map with known members. */
  item: 72,
};

/** A pod template has fewer than 50 fields. */
const MAX_DIGESTS = 128;

/** The body holds more than two objects have that etcd accepts. */
export class ExcerptTooLargeError extends Error {
  override name = 'ExcerptTooLargeError';
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Space, tab, line feed or carriage return. */
const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

const DIGEST_BYTES = 46;

/**
 * The text of an AdmissionReview of a Node or DaemonSet with those fields alone that this program reads. It takes time linear in the body, and
 * little memory besides: an object may have hundreds of thousands of values that nobody reads, in its status or its pod template.
 *
 * What is left out is not checked, except that strings and brackets end. A name with an escape in it is not one of those that are kept.
 *
 * @param body is overwritten
 * @throws SyntaxError for what is no JSON, ExcerptTooLargeError
 */
export function excerptOf(body: Buffer): string {
  let at = 0;
  /** How much of the body is overwritten with the excerpt, which is never longer than what it is of. */
  let written = 0;
  let cost = 0;
  let digests = 0;

  keep(REVIEW);
  space();
  if (at < body.length) throw unexpected();
  return body.toString('utf8', 0, written);

  function keep(part: Part): void {
    space();
    if (part === 'digest') keepDigest();
    else if (body[at] === OPENING_BRACE) {
      if (part === 'map') keepMembers(undefined);
      else if (isMembers(part)) keepMembers(part);
      else keepEmpty('{}');
    } else if (body[at] === OPENING_BRACKET) {
      if (isList(part)) keepItems(part);
      else keepEmpty('[]');
    } else {
      const start = at;
      skip();
      copy(start);
    }
  }

  function keepEmpty(text: '{}' | '[]'): void {
    skip();
    write(text);
  }

  /** @param of undefined: all members, which are scalars */
  function keepMembers(of: MembersPart | undefined): void {
    write('{');
    at++;
    let kept = 0;
    for (let more = !closes(CLOSING_BRACE); more; more = goesOn(CLOSING_BRACE)) {
      space();
      if (body[at] !== QUOTE) throw unexpected();
      const start = at;
      passString();
      const end = at;
      space();
      if (body[at] !== COLON) throw unexpected();
      at++;
      const part = of ? partOf(of, start + 1, end - 1) : 'scalar';
      if (part === undefined) {
        space();
        skip();
        continue;
      }
      if (kept++ > 0) write(',');
      if (!of) spend(COSTS.member);
      copy(start, end);
      write(':');
      keep(part);
    }
    write('}');
  }

  function keepItems({ items }: ListPart): void {
    write('[');
    at++;
    let kept = 0;
    for (let more = !closes(CLOSING_BRACKET); more; more = goesOn(CLOSING_BRACKET)) {
      if (kept++ > 0) write(',');
      spend(COSTS.item);
      keep(items);
    }
    write(']');
  }

  function keepDigest(): void {
    const start = at;
    skip();
    if (at - start <= DIGEST_BYTES) {
      copy(start);
      return;
    }
    if (++digests > MAX_DIGESTS) throw new ExcerptTooLargeError();
    write(`"${createHash('sha256').update(body.subarray(start, at)).digest('base64')}"`);
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
    const byte = body[at++];
    if (byte !== COMMA && byte !== bracket) throw unexpected();
    return byte === COMMA;
  }

  /** Passes over a value. */
  function skip(): void {
    let depth = 0;
    do {
      const byte = body[at];
      if (byte === undefined) throw unexpected();
      if (byte === QUOTE) passString();
      else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        depth++;
        at++;
      } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        if (depth === 0) throw unexpected();
        depth--;
        at++;
      } else if (depth > 0) at++;
      else passWord();
    } while (depth > 0);
  }

  function passString(): void {
    let next = at + 1;
    for (let byte = body[next]; byte !== QUOTE; byte = body[next]) {
      if (byte === undefined) {
        at = next;
        throw unexpected();
      }
      next += byte === BACKSLASH ? 2 : 1;
    }
    at = next + 1;
  }

  /** Passes over a number, `true`, `false` or `null`. */
  function passWord(): void {
    const start = at;
    while (at < body.length && !isDelimiter(body[at])) at++;
    if (at === start) throw unexpected();
  }

  function space(): void {
    while (isSpace(body[at])) at++;
  }

  function copy(start: number, end = at): void {
    spend(COSTS.byte * (end - start));
    // Of a few bytes, the call would take longer than they do.
    if (end - start > 64) {
      body.copyWithin(written, start, end);
      written += end - start;
    } else for (let from = start; from < end; from++) body[written++] = body[from] as number;
  }

  function write(text: string): void {
    for (let index = 0; index < text.length; index++) body[written++] = text.charCodeAt(index);
  }

  function spend(bytes: number): void {
    cost += bytes;
    if (cost > MAX_COST) throw new ExcerptTooLargeError();
  }

  /** The part of a member, by the bytes of its name: a string for each of millions of names would take too long. */
  function partOf({ members: kept, others }: MembersPart, start: number, end: number): Part | undefined {
    for (const [name, part] of kept) if (name.length === end - start && stands(name, start)) return part;
    return others;
  }

  function stands(name: string, start: number): boolean {
    for (let index = 0; index < name.length; index++) {
      if (body[start + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  function unexpected(): SyntaxError {
    return new SyntaxError(at >= body.length ? 'unexpected end' : `unexpected byte at position ${at}`);
  }
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
