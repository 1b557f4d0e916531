import { FLOORS, PURE_ROOMS, roomOf, type SourceFile } from './rooms.ts';

/** A table in Markdown: the rooms from the top floor down. */
export function housePlan(files: readonly SourceFile[]): string {
  const rows = FLOORS.toReversed().flatMap((floor, fromTop) =>
    Object.entries(floor).map(([room, what]) => {
      const isFolder = files.some(({ path }) => path.includes('/') && roomOf(path) === room);
      const name = isFolder ? `${room}/` : `${room}.ts`;
      return `| ${FLOORS.length - fromTop} | \`${name}\` | ${what} |`;
    }),
  );
  return [
    '| floor | in `src/` | what is in it |',
    '| --: | --- | --- |',
    ...rows,
    '',
    `Without I/O, clock or chance, and with no package but the schema library: ${PURE_ROOMS.join(', ')}.`,
  ].join('\n');
}
