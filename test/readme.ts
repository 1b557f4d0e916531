import { readFileSync } from 'node:fs';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The console blocks of the README that hold a text. */
export function readmeBlocks(containing: string): string[] {
  const blocks = [...README.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks.filter((block) => block.includes(containing));
}
