import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const SOURCE = new URL('../../../src/policy/', import.meta.url);
const files = (await readdir(SOURCE, { recursive: true })).filter((file) => file.endsWith('.ts'));

it.each(files)('policy/%s imports only its neighbours and the schema library, and asks no clock', async (file) => {
  const source = await readFile(new URL(file, SOURCE), 'utf8');
  for (const [, module = ''] of source.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)) {
    if (/^typebox(\/\w+)?$/.test(module)) continue;
    expect(module).toMatch(/^\.\.?\//);
    expect(new URL(module, new URL(file, SOURCE)).href).toContain(SOURCE.href);
  }
  expect(source).not.toMatch(/Date\.now|new Date\(|Math\.random|process\.|console\./);
});
