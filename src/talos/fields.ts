import { CONFLICT_TABLE, CONTROL_PLANE_TABLE, FIELD_TABLE, NAMESAKE_TABLE } from './field-table.ts';

/** Minor versions of Talos 1. */
export const FIRST_VERSION = 3;
export const LAST_VERSION = 15;

/** From which minor version of Talos on something holds, and up to which. */
export interface Versions {
  readonly since: number;
  readonly until: number;
}

/**
 * Whether it holds in that version; where nobody says which it is, in all of them.
 * @param from the first version that has what it is about
 */
export function holdsIn({ since, until }: Versions, version: number | undefined, from: number): boolean {
  return version === undefined ? since <= from && until === LAST_VERSION : version >= since && version <= until;
}

/** In which versions of Talos a field, or a kind of document, is there. */
export interface FieldLife extends Versions {
  /** The first version that has it only for old configurations' sake. */
  readonly deprecated: number | undefined;
  /** The kind of document, or the field beside it, that took its place; null where nothing did, undefined where it is not known. */
  readonly successor: string | null | undefined;
}

const ROOT = 'v1alpha1';
const ANY = '*';

interface Entry {
  readonly life: FieldLife | undefined;
  readonly children: Map<string, Entry>;
}

let tree: Entry | undefined;

/** The table as a tree; it is read when it is first asked for. */
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

/** `9-13`; where a number is missing, from the first or to the last. */
function versionsOf(range: string): Versions {
  const [since, until] = range.split('-');
  return { since: since ? Number(since) : FIRST_VERSION, until: until ? Number(until) : LAST_VERSION };
}

/** What is known of a kind of document; of undefined, of the one without. Undefined for a kind that no version has. */
export function documentLife(kind: string | undefined): FieldLife | undefined {
  if (kind === ROOT) return undefined;
  return fields().children.get(kind ?? ROOT)?.life;
}

/** All kinds of documents. */
export function documentKinds(): string[] {
  return [...fields().children.keys()].filter((kind) => kind !== ROOT);
}

/** What may stand in a mapping. */
export type Section =
  /** Fields by name, and where each leads. */
  | { readonly kind: 'fields'; readonly fields: ReadonlyMap<string, FieldSection> }
  /** Any key, with values that are all alike. */
  | { readonly kind: 'items'; readonly item: Section }
  /** Anything: the table says nothing about it. */
  | { readonly kind: 'free' };

export interface FieldSection {
  readonly life: FieldLife;
  readonly section: Section;
}

const sections = new Map<string, Section>();

/** The fields of a kind of document; of undefined, of the one without. Free for a kind that no version has. */
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
  /** How much has to stand there: anything but null, something neither empty nor zero, or true. */
  readonly test: 'set' | 'full' | 'true';
  /** Of the document: its name, or a field that has to say something. */
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

/** In which versions Talos refuses two documents of these kinds that have the same name; undefined where it never does. */
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
