import * as Type from 'typebox';
import { parseRemembered } from '../judge/memory.ts';
import type { NodeRecord } from '../judge/node-return.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { rfc3339 } from '../kubernetes/text.ts';
import { reader } from './object-meta.ts';

/** What a record says of taints, in characters: with more, the first ones count. */
const MAX_TAINTS_LENGTH = 2_048;

/** What all records together may take in a ConfigMap: the API server allows its values 1 MiB (MaxSecretSize). */
const MAX_TEXT_BYTES = 1_000_000;
/** The same with their names, which stand in the object once more, in its managed fields: etcd takes 1.5 MiB at a time. */
const MAX_BYTES = 1_200_000;
/** Around a name in both places. */
const ENTRY_BYTES = 16;

const RecordSchema = Type.Object({
  uid: Type.String(),
  machine: Type.String({ pattern: '^\\w*/\\w*$' }),
  taints: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String()),
  owed: Type.Optional(Type.String()),
  since: Type.Optional(Type.String()),
});
const asRecord = reader(RecordSchema);

/**
 * A record as JSON: `taints` and `owed` as in the annotation of what a node remembers, `machine` the marks of systemUUID and providerID with
 * a slash between them, times as in Kubernetes (RFC 3339, seconds).
 */
export function formatRecord({ uid, machine, taints, deletedAt, owed }: NodeRecord): string {
  return JSON.stringify({
    uid,
    machine: `${machine.system}/${machine.provider}`,
    ...(taints.length === 0 ? {} : { taints: formatList(taints) }),
    ...(deletedAt === undefined ? {} : { deletedAt: rfc3339(deletedAt) }),
    ...(owed ? { owed: formatList(owed.taints), since: rfc3339(owed.since) } : {}),
  });
}

/** What {@link formatRecord} wrote; undefined for anything else, whoever wrote it. */
export function parseRecord(text: string): NodeRecord | undefined {
  try {
    const { uid, machine, taints, deletedAt, owed, since } = asRecord(JSON.parse(text), []);
    const [system = '', provider = ''] = machine.split('/');
    return {
      uid,
      machine: { system, provider },
      taints: parseRemembered(taints),
      ...(deletedAt === undefined ? {} : { deletedAt: parseTime(deletedAt) }),
      ...(owed === undefined || since === undefined
        ? {}
        : { owed: { taints: parseRemembered(owed), since: parseTime(since) } }),
    };
  } catch {
    return undefined;
  }
}

/** What is to be stored, by the names of the nodes. */
export interface FittedRecords {
  readonly texts: ReadonlyMap<string, string>;
  /** Names of those that are there and find no room, and of those that are gone. */
  readonly left: { readonly present: readonly string[]; readonly deleted: readonly string[] };
}

/**
 * The records that there is room for: those of nodes that are there, then those that were deleted last. What is stored already goes before
 * what is not.
 *
 * @param taken what else is in the ConfigMap, by name
 */
export function fitRecords(
  records: ReadonlyMap<string, NodeRecord>,
  stored: ReadonlyMap<string, string>,
  taken: ReadonlyMap<string, string> = new Map(),
): FittedRecords {
  const rank = ({ deletedAt = Number.POSITIVE_INFINITY }: NodeRecord) => deletedAt;
  const ordered = [...records].sort(
    ([a, one], [b, other]) => compare(rank(other), rank(one)) || compare(stored.has(b), stored.has(a)) || compare(a, b),
  );
  const room = { texts: MAX_TEXT_BYTES, all: MAX_BYTES };
  const isRoomFor = (name: string, text: string) => {
    const bytes = Buffer.byteLength(text);
    room.texts -= bytes;
    room.all -= bytes + 2 * name.length + ENTRY_BYTES;
    return room.texts >= 0 && room.all >= 0;
  };
  for (const [name, text] of taken) isRoomFor(name, text);
  const texts = new Map<string, string>();
  const left = { present: [] as string[], deleted: [] as string[] };
  for (const [name, record] of ordered) {
    const text = formatRecord(record);
    if (isRoomFor(name, text)) texts.set(name, text);
    else left[record.deletedAt === undefined ? 'present' : 'deleted'].push(name);
  }
  return { texts, left };
}

function compare<T>(a: T, b: T): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function formatList(taints: readonly Taint[]): string {
  const texts: string[] = [];
  let length = 0;
  for (const text of taints.map(formatTaint)) {
    length += text.length + 2;
    if (length > MAX_TAINTS_LENGTH) break;
    texts.push(text);
  }
  return texts.join(', ');
}

/** @throws Error for what is no time */
function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Error(`no time: ${text}`);
  return time;
}
