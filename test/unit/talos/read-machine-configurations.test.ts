import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { InputError } from '../../../src/files/input-error.ts';
import { readMachineConfigurations } from '../../../src/talos/read-machine-configurations.ts';

const directory = mkdtempSync(join(tmpdir(), 'machine-configurations-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Writes a file and reads it; gives what is wrong with it, without the directory's name. */
async function faultsOf(...contents: (string | Buffer)[]): Promise<readonly string[]> {
  const files = contents.map((content, index) => {
    const file = join(directory, `${index}.yaml`);
    writeFileSync(file, content);
    return file;
  });
  try {
    await readMachineConfigurations(files);
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults.map((fault) => fault.replaceAll(`${directory}/`, ''));
  }
}

const SECRET = 'CaNaRy';

/** Nine lists of nine references to the list before: 9⁹ values. */
const ALIAS_BOMB = `machine:\n  type: worker\nx0: &x0 ["${SECRET}"]\n${Array.from(
  { length: 9 },
  (_, i) => `x${i + 1}: &x${i + 1} [${Array.from({ length: 9 }, () => `*x${i}`)}]\n`,
).join('')}`;

describe('one clear error, quickly, and nothing of what stands in the file', () => {
  it.each<{ why: string; content: string | Buffer; says: string }>([
    { why: '10 MiB', content: Buffer.alloc(10 * 1024 * 1024, `${SECRET}: x\n`), says: '0.yaml: larger than 2 MiB' },
    {
      why: 'an alias bomb',
      content: ALIAS_BOMB,
      says: '0.yaml:1:1: too many aliases (*name), or aliases that cannot be followed',
    },
    { why: 'binary', content: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe]), says: '0.yaml: this is no text' },
    { why: 'text with zero bytes', content: 'machine: \0', says: '0.yaml: this is no text' },
    { why: 'nothing', content: '# only a comment\n', says: '0.yaml: there is nothing in it' },
    { why: 'a list that ends nowhere', content: `machine: [${SECRET}\ntype: worker\n`, says: '0.yaml:' },
    {
      why: 'a bad indent',
      content: `machine:\n  token: ${SECRET}\n type: worker\n`,
      says: '0.yaml:3:1: this is no YAML',
    },
    { why: 'text after a quoted one', content: `machine:\n  token: "a" ${SECRET}\n`, says: '0.yaml:2:' },
    { why: 'a secret that looks like an alias', content: `machine:\n  token: *${SECRET}\n`, says: '0.yaml:2:10:' },
    { why: 'a secret that looks like a tag', content: `machine:\n  token: !${SECRET} x\n`, says: '0.yaml:2:10:' },
    { why: 'a bad escape', content: `machine:\n  token: "\\q${SECRET}"\n`, says: '0.yaml:2:' },
    { why: 'a key that is there twice', content: `machine:\n  ${SECRET}: a\n  ${SECRET}: b\n`, says: '0.yaml:3:3:' },
    { why: 'a directive', content: `%${SECRET}\n---\nmachine: {}\n`, says: '0.yaml:1:1:' },
    {
      why: 'large JSON',
      content: `{"machine": "${SECRET}${'x'.repeat(1_100_000)}" ${SECRET}}`,
      says: '0.yaml:1:1100022: this is no YAML',
    },
    { why: 'a secret alone', content: SECRET, says: '0.yaml:1:1: expected a machine configuration' },
    { why: 'a list of secrets', content: `- ${SECRET}\n`, says: '0.yaml:1:3: expected an operation' },
    {
      why: 'a kind that is a secret',
      content: `apiVersion: ${SECRET}\nkind: ${SECRET}\n`,
      says: '0.yaml:1:1: this is no',
    },
  ])('$why', async ({ content, says }) => {
    const faults = await faultsOf(content);
    expect(faults).toEqual([expect.stringContaining(says)]);
    expect(faults.join()).not.toContain(SECRET);
  });
});

it('each file that cannot be used is named, in order', async () => {
  expect(await faultsOf('a: [\n', 'machine: { type: worker }\n', 'hello\n')).toEqual([
    expect.stringContaining('0.yaml:'),
    expect.stringContaining('2.yaml:1:1: expected a machine configuration'),
  ]);
});

it('a file that is not there', async () => {
  const missing = join(directory, 'missing.yaml');
  await expect(readMachineConfigurations([missing])).rejects.toThrow(`${missing}: not found`);
});
