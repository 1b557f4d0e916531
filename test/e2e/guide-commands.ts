import { readFileSync } from 'node:fs';

/** One command of a page of docs/, and the output that the page shows for it. */
export interface GuideCommand {
  readonly command: string;
  readonly output: string;
}

/**
 * The commands of a console block, in order; those joined by `&&` one by one.
 * @param page the name of its file in docs/
 * @param heading of the section that the block is in, of the second level or below
 * @param block the number of the block in the section, from 0. Only console blocks count
 * @throws Error when there is no such block
 */
export function guideCommands(page: string, heading: string, block = 0): GuideCommand[] {
  const oneLine = blockOf(page, heading, 'console', block);
  return [...oneLine.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].flatMap(([, commands = '', output = '']) =>
    commands.split(' && ').map((command) => ({ command, output })),
  );
}

/**
 * The commands of an sh block, which shows no output: a line each, as users paste them.
 * @param page the name of its file in docs/
 * @param heading of the section that the block is in, of the second level or below
 * @param block the number of the block in the section, from 0. Only sh blocks count
 * @throws Error when there is no such block
 */
export function guideLines(page: string, heading: string, block = 0): string[] {
  return blockOf(page, heading, 'sh', block).trim().split('\n');
}

/**
 * The text of a yaml block: a file, as users copy it.
 * @param page the name of its file in docs/
 * @param heading of the section that the block is in, of the second level or below
 * @param block the number of the block in the section, from 0. Only yaml blocks count
 * @throws Error when there is no such block
 */
export function guideFile(page: string, heading: string, block = 0): string {
  return blockOf(page, heading, 'yaml', block);
}

/** The text of a block, with continued lines joined. A section ends at the next heading of its level or above. */
function blockOf(page: string, heading: string, language: string, block: number): string {
  const guide = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const [, marks = '', rest = ''] = new RegExp(`^(##+) ${heading}\n([\\s\\S]*)`, 'm').exec(guide) ?? [];
  const [section = ''] = rest.split(new RegExp(`^#{2,${marks.length}} `, 'm'));
  const blocks = [...section.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))];
  const text = blocks[block]?.[1];
  if (text === undefined) throw new Error(`docs/${page} has no ${language} block ${block} under ${heading}`);
  return text.replaceAll(/ *\\\n */g, ' ');
}
