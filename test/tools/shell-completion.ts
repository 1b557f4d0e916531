import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { PROGRAM, run } from '../unit/cli/run-command.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { isInstalled, SHELLS, type Shell } from './shells.ts';

/** The tests of `taintkeeper completion` in a shell: what it makes of the program's answer. */
export function describeCompletion(name: Shell['name']): void {
  const shell = SHELLS.find((one) => one.name === name);
  if (!shell) throw new Error(`there is no ${name} among the shells`);
  describe(name, skipFor(isInstalled(shell) ? undefined : `there is no ${name}`), () => {
    it.each([
      {
        line: 'taintkeeper ',
        offers: ['review', 'serve', 'certs', 'completion'],
        not: ['status', '--old', 'node.yaml'],
      },
      { line: 'taintkeeper certs rotate --', offers: ['--ca', '--timeout'], not: ['--output'] },
      { line: 'taintkeeper review -o y', offers: ['yaml'], not: ['json'] },
      { line: 'taintkeeper review --old ', offers: ['node.yaml', 'with space.yaml'], not: ['review', ':files'] },
      { line: 'taintkeeper coverage ', offers: ['fix', 'migrate', 'node.yaml'], not: ['serve', ':files'] },
      { line: 'taintkeeper review --user ', offers: [], not: ['node.yaml', 'serve'] },
    ])('$line⇥', async ({ line, offers, not }) => {
      const { stdout } = await run('completion', name);
      const offered = shell.complete(stdout, line, directory());

      expect(offered.map((word) => word.replaceAll('\\', ''))).toEqual(expect.arrayContaining(offers));
      for (const word of not) expect.soft(offered).not.toContain(word);
    });

    it('--output=⇥ has the choices', async () => {
      const { stdout } = await run('completion', name);
      const offered = shell.complete(stdout, 'taintkeeper review --output=', directory());
      expect(offered.map((word) => word.replace('--output=', ''))).toEqual([
        'github',
        'json',
        'junit',
        'sarif',
        'table',
        'wide',
        'yaml',
      ]);
    });
  });
}

/** A directory with two files and the program. */
function directory(): string {
  const path = temporaryDirectory();
  for (const file of ['node.yaml', 'with space.yaml']) writeFileSync(join(path, file), '');
  const bin = join(path, 'bin');
  mkdirSync(bin);
  const program = join(bin, 'taintkeeper');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  return path;
}
