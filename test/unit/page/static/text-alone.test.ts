import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const STATIC = join(import.meta.dirname, '../../../../src/page/static');
const scripts = readdirSync(STATIC).filter((file) => file.endsWith('.js'));

/** All that makes markup or code of a text. */
const MAKES_MORE_OF_TEXT =
  /\b(innerHTML|outerHTML|insertAdjacentHTML|setHTML\w*|srcdoc|createContextualFragment|DOMParser|eval|Function|document\.write\w*)\b/;

it.each(scripts)('%s shows names as text: nothing makes markup or code of them', (file) => {
  expect(readFileSync(join(STATIC, file), 'utf8')).not.toMatch(MAKES_MORE_OF_TEXT);
});

it('index.html has no script or handler of its own', () => {
  const page = readFileSync(join(STATIC, 'index.html'), 'utf8');
  expect(page.match(/<script\b[^>]*>[^<]*\S[^<]*<\/script>/g)).toBeNull();
  expect(page).not.toMatch(/\son\w+=|javascript:/i);
});
