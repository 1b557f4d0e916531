import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './pages.ts';

/** A link of a page in docs/ to a file below test/. */
export interface LinkedTest {
  readonly text: string;
  /** From the project's root. */
  readonly path: string;
}

export function testsLinkedIn(markdown: string): LinkedTest[] {
  return [...markdown.matchAll(/\[([^\]]*)\]\(\.\.\/(test\/[^)#]+)/g)].map(([, text = '', path = '']) => ({
    text,
    path,
  }));
}

/** Whether vitest finds cases in the file, or `npm run fuzz` runs it. */
export function isRun(path: string): boolean {
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (path.startsWith('test/fuzz/')) return /\btarget(<.*>)?\(/.test(text);
  return path.endsWith('.test.ts') && /^\s*(it|test)(\.each|\.concurrent)?[(<]/m.test(text);
}
