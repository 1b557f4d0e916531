import { lazy } from '../collections/lazy.ts';
import type { Path } from '../policy/problem.ts';
import { FIELD_TABLE, KUBELET_TABLE } from './field-table.ts';
import { FIRST_VERSION, LAST_VERSION, type Versions } from './versions.ts';

/** The versions of Talos that have a field, or a kind of document. */
export interface FieldLife extends Versions {
  /** The first version that supports it only for old configurations. */
  readonly deprecated: number | undefined;
  /** The kind of document, or the field beside it, that replaced it. Null if nothing did, undefined if it is not known. */
  readonly successor: string | null | undefined;
}

const ROOT = 'v1alpha1';
const ANY = '*';

/** One field of the table, and what may stand below it. */
export interface Entry {
  readonly life: FieldLife | undefined;
  /** Its types, each with the first version that has it: see the table. Empty for `*`. */
  readonly types: readonly { readonly since: number; readonly type: string }[];
  readonly children: ReadonlyMap<string, Entry>;
}

const kinds = lazy(() => parseTable(FIELD_TABLE));

/** The kubelet's configuration, whose versions are those of the Talos that decodes it. */
export const kubeletEntry = lazy((): Entry => {
  const kubelet = parseTable(KUBELET_TABLE).children.get('KubeletConfiguration');
  if (!kubelet) throw new Error('the table has no KubeletConfiguration');
  return kubelet;
});

/** The fields of a kind of document; undefined for the document without a kind. Undefined for an unknown kind. */
export function documentEntry(kind: string | undefined): Entry | undefined {
  return kinds().children.get(kind ?? ROOT);
}

interface GrowingEntry extends Omit<Entry, 'children'> {
  readonly children: Map<string, GrowingEntry>;
}

/** The entry at a path; names of items count for `*`. */
export function entryAt(entry: Entry | undefined, path: Path): Entry | undefined {
  const [name, ...rest] = path;
  if (!entry || name === undefined) return entry;
  return entryAt(entry.children.get(ANY) ?? entry.children.get(String(name)), rest);
}

function parseTable(table: string): Entry {
  const root: GrowingEntry = { life: undefined, types: [], children: new Map() };
  for (const line of table.trim().split('\n')) {
    const [path = '', ...facts] = line.split(' ');
    const parts = path.split('.');
    let at = root;
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      const below: GrowingEntry = at.children.get(part) ?? {
        life: isLast ? lifeOf(facts) : undefined,
        types: isLast ? typesOf(facts[1]) : [],
        children: new Map(),
      };
      at.children.set(part, below);
      at = below;
    }
  }
  return root;
}

/** `{}text,13:{}arg`. */
function typesOf(text = ''): Entry['types'] {
  return text.split(',').map((each) => {
    const [, since, type = ''] = /^(?:(\d+):)?(.+)$/.exec(each) ?? [];
    return { since: since === undefined ? FIRST_VERSION : Number(since), type };
  });
}

/** The type of a field in a version. Without a version: that of the newest, which takes what the earlier ones take. */
export function typeIn({ types }: Entry, version: number = LAST_VERSION): string {
  return types.findLast(({ since }) => since <= version)?.type ?? 'any';
}

/** Whether a value of the type has named fields. */
export function isStruct(type: string): boolean {
  return type === 'struct' || type === 'value';
}

function lifeOf([range = '-', , mark, successor]: readonly string[]): FieldLife {
  return {
    ...versionsOf(range),
    deprecated: mark === undefined ? undefined : Number(mark.slice(1)),
    successor: successor === '-' ? null : successor,
  };
}

/** The versions of an entry of a table: `9-13`. Without a number, from the first or to the last version. */
export function versionsOf(range: string): Versions {
  const [since, until] = range.split('-');
  return { since: since ? Number(since) : FIRST_VERSION, until: until ? Number(until) : LAST_VERSION };
}

/** The versions of a kind of document; undefined for the document without a kind. Undefined for an unknown kind. */
export function documentLife(kind: string | undefined): FieldLife | undefined {
  return kind === ROOT ? undefined : documentEntry(kind)?.life;
}

/** All kinds of documents. */
export function documentKinds(): string[] {
  return [...kinds().children.keys()].filter((kind) => kind !== ROOT);
}
