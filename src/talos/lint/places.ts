import type { Path } from '../../policy/problem.ts';
import { documentSection, type Section } from '../fields.ts';

let known: ReadonlyMap<string, readonly Path[]> | undefined;

/** Where in `machine` and `cluster` there is a field of that name; nothing for names that are common, which tell nothing. */
export function placesOf(name: string): readonly Path[] {
  known ??= index();
  const places = known.get(name) ?? [];
  return places.length <= MANY ? places : [];
}

/** More places than this, and the name alone does not say what is meant. */
const MANY = 2;

function index(): ReadonlyMap<string, readonly Path[]> {
  const found = new Map<string, Path[]>();
  const walk = (section: Section, path: Path): void => {
    if (section.kind !== 'fields') return;
    for (const [name, { section: below }] of section.fields) {
      const at = [...path, name];
      found.set(name, [...(found.get(name) ?? []), at]);
      walk(below, at);
    }
  };
  walk(documentSection(undefined), []);
  return found;
}
