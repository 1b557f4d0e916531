import { FLOORS, PURE_ROOMS, roomOf, type SourceFile } from './rooms.ts';

/** A table in Markdown: the rooms from the top floor down, each with what it imports as the files say, not as the floors permit. */
export function housePlan(files: readonly SourceFile[]): string {
  const rows = FLOORS.toReversed().flatMap((floor, fromTop) =>
    Object.entries(floor).map(([room, what]) => {
      const inside = files.filter(({ path }) => roomOf(path) === room);
      const name = inside.some(({ path }) => path.includes('/')) ? `${room}/` : `${room}.ts`;
      return `| ${FLOORS.length - fromTop} | \`${name}\` | ${what} | ${importedRooms(room, inside)} |`;
    }),
  );
  return [
    '| floor | room | what is in it | imports from |',
    '| --: | --- | --- | --- |',
    ...rows,
    '',
    `Pure rooms, without I/O, clock or chance, and with no package but the schema library: ${PURE_ROOMS.join(', ')}.`,
  ].join('\n');
}

function importedRooms(room: string, files: readonly SourceFile[]): string {
  const imported = new Set(files.flatMap(({ imports }) => imports.filter((path) => path.endsWith('.ts')).map(roomOf)));
  imported.delete(room);
  const topDown = FLOORS.toReversed().flatMap((floor) => Object.keys(floor));
  return topDown.filter((one) => imported.has(one)).join(', ') || '–';
}
