import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../docs/install.md', import.meta.url), 'utf8');

/** One command of docs/install.md, and the output that the guide shows for it. */
export interface GuideCommand {
  readonly command: string;
  readonly output: string;
}

/**
 * The commands of a console block, in order; those joined by `&&` one by one.
 * @param heading of the section that the block is in
 * @param block the how manieth of the section, from 0
 * @throws Error when there is no such block
 */
export function guideCommands(heading: string, block = 0): GuideCommand[] {
  const section = GUIDE.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const text = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)][block]?.[1];
  if (text === undefined) throw new Error(`docs/install.md has no block ${block} of commands under ${heading}`);
  const oneLine = text.replaceAll(/ *\\\n */g, ' ');
  return [...oneLine.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].flatMap(([, commands = '', output = '']) =>
    commands.split(' && ').map((command) => ({ command, output })),
  );
}
