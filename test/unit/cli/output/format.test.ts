import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatAs } from '../../../../src/cli/output/format.ts';

const message = `the serving certificate ${'is not trusted by this webhook, '.repeat(10)}and that is all`;
const found = { data: () => ({ message }), table: () => 'NAME\n' };

it('a long message is one line, in whatever format', () => {
  expect(formatAs('yaml', found)).toBe(`message: ${message}\n`);
  expect(parse(formatAs('yaml', found))).toEqual({ message });
  expect(formatAs('json', found)).toBe(`{\n  "message": "${message}"\n}\n`);
  expect(formatAs('table', found)).toBe('NAME\n');
});
