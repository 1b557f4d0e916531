import { CONFLICT_TABLE, CONTROL_PLANE_TABLE, FIELD_TABLE, NAMESAKE_TABLE } from './field-table.ts';

/** Minor versions of Talos 1. */
export const FIRST_VERSION = 3;
export const LAST_VERSION = 15;

/** The first and the last version of Talos to which something applies. */
export interface Versions {
  readonly since: number;
  readonly until: number;
}

/**
 * Whether it applies to that version. Without a version: whether it applies to all of them.
 * @param from the first version of the subject
 */
export function holdsIn({ since, until }: Versions, version: number | undefined, from: number): boolean {
  return version === undefined ? since <= from && until === LAST_VERSION : version >= since && version <= until;
}

/** The versions of Talos that have a field, or a kind of document. */
export interface FieldLife extends Versions {
  /** The first version that supports it only for old configurations. */
  readonly deprecated: number | undefined;
  /** The kind of document, or the field beside it, that replaced it. Null if nothing did, undefined if it is not known. */
  readonly successor: string | null | undefined;
}

const ROOT = 'v1alpha1';
const ANY = '*';

interface Entry {
  readonly life: FieldLife | undefined;
  readonly children: Map<string, Entry>;
}

let tree: Entry | undefined;

/** The table as a tree, parsed on demand. */
function fields(): Entry {
  if (tree) return tree;
  tree = { life: undefined, children: new Map() };
  for (const line of FIELD_TABLE.trim().split('\n')) {
    const [path = '', ...facts] = line.split(' ');
    const parts = path.split('.');
    let at = tree;
    for (const [index, part] of parts.entries()) {
      const below = at.children.get(part) ?? {
        life: index === parts.length - 1 ? lifeOf(facts) : undefined,
        children: new Map(),
      };
      at.children.set(part, below);
      at = below;
    }
  }
  return tree;
}

function lifeOf([range = '-', mark, successor]: readonly string[]): FieldLife {
  return {
    ...versionsOf(range),
    deprecated: mark === undefined ? undefined : Number(mark.slice(1)),
    successor: successor === '-' ? null : successor,
  };
}

/** `9-13`. Without a number, from the first or to the last version. */
function versionsOf(range: string): Versions {
  const [since, until] = range.split('-');
  return { since: since ? Number(since) : FIRST_VERSION, until: until ? Number(until) : LAST_VERSION };
}

/** The versions of a kind of document; undefined for the document without a kind. Undefined for an unknown kind. */
export function documentLife(kind: string | undefined): FieldLife | undefined {
  if (kind === ROOT) return undefined;
  return fields().children.get(kind ?? ROOT)?.life;
}

/** All kinds of documents. */
export function documentKinds(): string[] {
  return [...fields().children.keys()].filter((kind) => kind !== ROOT);
}

/** The allowed content of a mapping. */
export type Section =
  /** Fields by name, with their content. */
  | { readonly kind: 'fields'; readonly fields: ReadonlyMap<string, FieldSection> }
  /** Any key, with values of one type. */
  | { readonly kind: 'items'; readonly item: Section }
  /** Any content: the table does not describe it. */
  | { readonly kind: 'free' };

export interface FieldSection {
  readonly life: FieldLife;
  readonly section: Section;
}

const sections = new Map<string, Section>();

/** The fields of a kind of document; undefined for the document without a kind. Free for an unknown kind. */
export function documentSection(kind: string | undefined): Section {
  const name = kind ?? ROOT;
  const section = sections.get(name) ?? sectionOf(fields().children.get(name));
  sections.set(name, section);
  return section;
}

function sectionOf(entry: Entry | undefined): Section {
  if (!entry || entry.children.size === 0) return { kind: 'free' };
  const item = entry.children.get(ANY);
  if (item) return { kind: 'items', item: sectionOf(item) };
  const found = [...entry.children].flatMap(([name, below]): [string, FieldSection][] =>
    below.life ? [[name, { life: below.life, section: sectionOf(below) }]] : [],
  );
  return { kind: 'fields', fields: new Map(found) };
}

/** A setting of `machine` or `cluster` that Talos refuses beside a kind of document. */
export interface Conflict extends Versions {
  readonly kind: string;
  readonly path: readonly string[];
  /** The required content: anything except null, something neither empty nor zero, or true. */
  readonly test: 'set' | 'full' | 'true';
  /** In the document: its name, or a field with content. */
  readonly when: readonly ({ readonly name: string } | { readonly field: string })[];
}

let conflicts: readonly Conflict[] | undefined;

/** All of them, by kind. */
export function allConflicts(): readonly Conflict[] {
  conflicts ??= rows(CONFLICT_TABLE).map(({ versions, words: [kind = '', path = '', test = '', ...when] }) => ({
    ...versions,
    kind,
    path: path.split('.'),
    test: test as Conflict['test'],
    when: when.map((text) => (text.startsWith('name=') ? { name: text.slice('name='.length) } : { field: text })),
  }));
  return conflicts;
}

let namesakes: ReadonlyMap<string, Versions> | undefined;

/** The versions of Talos that refuse two documents of these kinds with the same name. Undefined if none does. */
export function namesakeVersions(a: string, b: string): Versions | undefined {
  namesakes ??= new Map(rows(NAMESAKE_TABLE).map(({ versions, words }) => [words.join(' '), versions]));
  return namesakes.get([a, b].sort().join(' '));
}

let controlPlaneKinds: ReadonlyMap<string, Versions> | undefined;

/** Whether Talos refuses documents of this kind on workers. */
export function isForControlPlanes(kind: string): boolean {
  controlPlaneKinds ??= new Map(rows(CONTROL_PLANE_TABLE).map(({ versions, words: [each = ''] }) => [each, versions]));
  return controlPlaneKinds.has(kind);
}

function rows(table: string): { versions: Versions; words: string[] }[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [range = '-', ...words] = line.split(' ');
      return { versions: versionsOf(range), words };
    });
}
