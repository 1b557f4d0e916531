import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectory } from '../../../src/files/make-directory.ts';
import { skipFor } from '../../skip-for.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

it('makes a directory and those above it, for many at once', async () => {
  const path = join(temporaryDirectory(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 10 }, () => makeDirectory(path)));
  expect(statSync(path).isDirectory()).toBe(true);
  await makeDirectory(path);
});

it.each([
  { what: 'a file is in its place', path: (file: string) => file, code: 'EEXIST' },
  { what: 'a file is above it', path: (file: string) => join(file, 'certs'), code: 'ENOTDIR' },
])('fails where $what', async ({ path, code }) => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  await expect(makeDirectory(path(file))).rejects.toMatchObject({ code });
});

const needsProc = skipFor(existsSync('/proc/self') ? undefined : 'there is no /proc');

it('fails, and does not hang, where there can be none', needsProc, async () => {
  await expect(makeDirectory('/proc/none/such')).rejects.toMatchObject({ code: 'ENOENT' });
});
