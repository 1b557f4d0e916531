import { describe, expect, it } from 'vitest';
import { FLOORS, floorOf, PURE_ROOMS, roomOf, type SourceFile, sourceFiles } from '../../scripts/rooms.ts';

const FILES = sourceFiles();

describe('the rooms of src', () => {
  it('are those of the table', () => {
    const rooms = FLOORS.flatMap((floor) => Object.keys(floor));
    expect([...new Set(FILES.map(({ path }) => roomOf(path)))].sort()).toEqual(rooms.toSorted());
  });

  it('import only from floors below their own', () => {
    const upwards = FILES.flatMap(({ path, imports }) =>
      imports
        .filter((imported) => imported.endsWith('.ts') && roomOf(imported) !== roomOf(path))
        .filter((imported) => floorOf(roomOf(imported)) >= floorOf(roomOf(path)))
        .map((imported) => `${path} imports ${imported}`),
    );
    expect(upwards).toEqual([]);
  });

  it('have no circles of imports, those of types included', () => {
    expect(
      circle([
        { path: 'a.ts', imports: ['b.ts'] },
        { path: 'b.ts', imports: ['c.ts'] },
        { path: 'c.ts', imports: ['b.ts'] },
      ]),
    ).toEqual(['b.ts', 'c.ts', 'b.ts']);
    expect(circle(FILES)).toBeUndefined();
  });
});

it.each(PURE_ROOMS)('%s is pure: no packages but the schema library, no clock, no chance', (room) => {
  const files = FILES.filter(({ path }) => roomOf(path) === room);
  expect(files.length).toBeGreaterThan(0);
  for (const { path, packages, text, imports } of files) {
    expect(
      imports.filter((file) => !PURE_ROOMS.includes(roomOf(file))),
      path,
    ).toEqual([]);
    expect(
      packages.filter((name) => !/^typebox(\/\w+)?$/.test(name)),
      path,
    ).toEqual([]);
    expect(text, path).not.toMatch(
      /Date\.now|new Date\(\)|performance\.|Math\.random|process\.|console\.|setTimeout|setInterval|fetch\(/,
    );
  }
});

/** The first circle that is found, as a walk along it. */
function circle(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[] | undefined {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const finished = new Set<string>();
  function walk(path: string, way: readonly string[]): string[] | undefined {
    const from = way.indexOf(path);
    if (from >= 0) return [...way.slice(from), path];
    if (finished.has(path)) return undefined;
    for (const imported of importsOf.get(path) ?? []) {
      const found = walk(imported, [...way, path]);
      if (found) return found;
    }
    finished.add(path);
    return undefined;
  }
  for (const { path } of files) {
    const found = walk(path, []);
    if (found) return found;
  }
  return undefined;
}
