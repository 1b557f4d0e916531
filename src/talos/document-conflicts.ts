import { lazy } from '../collections/lazy.ts';
import { CONFLICT_TABLE, CONTROL_PLANE_TABLE, NAMESAKE_TABLE } from './field-table.ts';
import { versionsOf } from './fields.ts';
import type { Versions } from './versions.ts';

/** A setting of `machine` or `cluster` that Talos refuses beside a kind of document. */
export interface Conflict extends Versions {
  readonly kind: string;
  readonly path: readonly string[];
  /** The required content: anything except null, something neither empty nor zero, or true. */
  readonly test: 'set' | 'full' | 'true';
  /** In the document: its name, or a field with content. */
  readonly when: readonly ({ readonly name: string } | { readonly field: string })[];
}

/** All of them, by kind. */
export const allConflicts = lazy((): readonly Conflict[] =>
  rows(CONFLICT_TABLE).map(({ versions, words: [kind = '', path = '', test = '', ...when] }) => ({
    ...versions,
    kind,
    path: path.split('.'),
    test: test as Conflict['test'],
    when: when.map((text) => (text.startsWith('name=') ? { name: text.slice('name='.length) } : { field: text })),
  })),
);

const namesakes = lazy(
  (): ReadonlyMap<string, Versions> =>
    new Map(rows(NAMESAKE_TABLE).map(({ versions, words }) => [words.join(' '), versions])),
);

/** The versions of Talos that refuse two documents of these kinds with the same name. Undefined if none does. */
export function namesakeVersions(a: string, b: string): Versions | undefined {
  return namesakes().get([a, b].sort().join(' '));
}

const controlPlaneKinds = lazy(() => new Set(rows(CONTROL_PLANE_TABLE).map(({ words: [kind = ''] }) => kind)));

/** Whether Talos refuses documents of this kind on workers. */
export function isForControlPlanes(kind: string): boolean {
  return controlPlaneKinds().has(kind);
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
