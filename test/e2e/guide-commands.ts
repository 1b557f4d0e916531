import { readFileSync } from 'node:fs';

/** One command of a page of docs/, and the output that the page shows for it. */
export interface GuideCommand {
  readonly command: string;
  readonly output: string;
}

/**
 * The commands of a console block, in order; those joined by `&&` one by one.
 * @param page the name of its file in docs/
 * @param heading of the section that the block is in
 * @param block the how manieth of the section, from 0
 * @throws Error when there is no such block
 */
export function guideCommands(page: string, heading: string, block = 0): GuideCommand[] {
  const guide = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const section = guide.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const text = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)][block]?.[1];
  if (text === undefined) throw new Error(`docs/${page} has no block ${block} of commands under ${heading}`);
  const oneLine = text.replaceAll(/ *\\\n */g, ' ');
  return [...oneLine.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].flatMap(([, commands = '', output = '']) =>
    commands.split(' && ').map((command) => ({ command, output })),
  );
}
