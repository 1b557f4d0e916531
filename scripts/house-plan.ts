import { FLOORS, PURE_ROOMS, roomOf, type SourceFile, sourceFiles } from './rooms.ts';

const BEGIN = '<!-- plan of src: begin; written by `npm run generate` -->';
const END = '<!-- plan of src: end -->';

/**
 * A text with the plan of `src` between its two markers.
 * @throws Error when a marker is missing
 */
export function withHousePlan(text: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`not found, in this order: ${BEGIN} and ${END}`);
  return `${text.slice(0, begin)}${BEGIN}\n\n${housePlan(sourceFiles())}\n${text.slice(end)}`;
}

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
    '',
  ].join('\n');
}

function importedRooms(room: string, files: readonly SourceFile[]): string {
  const imported = new Set(files.flatMap(({ imports }) => imports.filter((path) => path.endsWith('.ts')).map(roomOf)));
  imported.delete(room);
  const topDown = FLOORS.toReversed().flatMap((floor) => Object.keys(floor));
  return topDown.filter((one) => imported.has(one)).join(', ') || '–';
}
