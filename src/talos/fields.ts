import { FIELD_TABLE } from './field-table.ts';

/** Minor versions of Talos 1. */
export const FIRST_VERSION = 3;
export const LAST_VERSION = 15;

/** In which versions of Talos a field, or a kind of document, is there. */
export interface FieldLife {
  readonly since: number;
  readonly until: number;
  /** The first version that has it only for old configurations' sake. */
  readonly deprecated: number | undefined;
  /** The kind of document, or the field beside it, that took its place. */
  readonly successor: string | undefined;
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

function lifeOf(facts: readonly string[]): FieldLife {
  const range = facts.find((fact) => /^\d*-\d*$/.test(fact)) ?? '-';
  const [since, until] = range.split('-');
  const mark = facts.findIndex((fact) => fact.startsWith('!'));
  return {
    since: since ? Number(since) : FIRST_VERSION,
    until: until ? Number(until) : LAST_VERSION,
    deprecated: mark < 0 ? undefined : Number(facts[mark]?.slice(1)),
    successor: mark < 0 ? undefined : facts[mark + 1],
  };
}

/** What is known of a kind of document; of undefined, of the one without. Undefined for a kind that no version has. */
export function documentLife(kind: string | undefined): FieldLife | undefined {
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
