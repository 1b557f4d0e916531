import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { guideCommands, guideFile, guideLines } from '../../e2e/guide-commands.ts';

/** The calls with a page and a heading that are written out; a constant may have both. */
const CALL = /\b(guideCommands|guideLines|guideFile)\(\s*'([^']+)',\s*'([^']+)'(?:,\s*(\d+))?/g;
const READERS: Readonly<Record<string, (page: string, heading: string, block: number) => unknown>> = {
  guideCommands,
  guideLines,
  guideFile,
};

const calls = globSync('test/{e2e,real-node,places}/**/*.test.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(CALL)].map(([, reader = '', page = '', heading = '', block = '0']) => ({
    file,
    reader,
    page,
    heading,
    block: Number(block),
  })),
);

describe('blocks of docs/ that tests on clusters run', () => {
  // Most of these tests run at night only.
  it.each(calls)('$file: $page, $heading, block $block', ({ reader, page, heading, block }) => {
    expect(() => READERS[reader]?.(page, heading, block)).not.toThrow();
  });

  it('are found', () => expect(calls.length).toBeGreaterThan(10));
});
