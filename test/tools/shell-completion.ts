import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { syntaxOf } from '../../src/cli/completion/syntax.ts';
import { createProgram } from '../../src/cli/main.ts';
import { skipFor } from '../skip-for.ts';
import { run } from '../unit/cli/run-command.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { isInstalled, SHELLS, type Shell } from './shells.ts';

const syntaxes = syntaxOf(createProgram(allCommands(() => {})));
const optionsOf = (path: string) => syntaxes.find((syntax) => syntax.path === path)?.options ?? [];

/** The tests of `taintkeeper completion` in a shell. */
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
      { line: 'taintkeeper se', offers: ['serve'], not: ['review'] },
      { line: 'taintkeeper certs ', offers: ['status', 'rotate'], not: ['serve'] },
      { line: 'taintkeeper certs status --k', offers: ['--kubeconfig'], not: ['--namespace'] },
      { line: 'taintkeeper certs rotate --', offers: ['--ca', '--timeout'], not: ['--output'] },
      { line: 'taintkeeper review --output ', offers: ['json', 'table', 'yaml'], not: ['node.yaml'] },
      { line: 'taintkeeper review -o ', offers: ['json', 'table', 'yaml'], not: ['node.yaml'] },
      { line: 'taintkeeper review -o y', offers: ['yaml'], not: ['json'] },
      { line: 'taintkeeper review --old ', offers: ['node.yaml'], not: ['review'] },
      { line: 'taintkeeper review --user ', offers: [], not: ['node.yaml', 'serve'] },
      { line: 'taintkeeper review no', offers: ['node.yaml'], not: [] },
      { line: 'taintkeeper review --patched no', offers: ['node.yaml'], not: [] },
      { line: 'taintkeeper serve --policies a.yaml --policies no', offers: ['node.yaml'], not: [] },
      { line: 'taintkeeper serve --policies a.yaml --por', offers: ['--port'], not: ['node.yaml'] },
      { line: 'taintkeeper completion ', offers: ['bash', 'fish', 'zsh'], not: ['node.yaml'] },
      { line: 'taintkeeper coverage ', offers: ['fix', 'migrate', 'tolerations', 'node.yaml'], not: ['serve'] },
      { line: 'taintkeeper coverage node.yaml no', offers: ['node.yaml'], not: ['fix'] },
      { line: 'taintkeeper coverage node.yaml --ga', offers: ['--gaps'], not: ['--as'] },
      { line: 'taintkeeper coverage fix --', offers: ['--as', '--taint'], not: ['--gaps', '--pods'] },
      { line: 'taintkeeper coverage fix no', offers: ['node.yaml'], not: ['migrate'] },
      { line: 'taintkeeper help cer', offers: ['certs'], not: ['serve'] },
    ])('$line⇥', async ({ line, offers, not }) => {
      const { stdout } = await run('completion', name);
      const offered = shell.complete(stdout, line, directory());

      expect(offered).toEqual(expect.arrayContaining(offers));
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

    it.each(syntaxes.map(({ path }) => path))('every long option of %s is there', async (path) => {
      const { stdout } = await run('completion', name);
      const offered = shell.complete(stdout, `${path} --`, directory());
      const long = optionsOf(path).flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')));
      expect(offered.filter((word) => word.startsWith('--')).sort()).toEqual(long.sort());
    });
  });
}

/** A directory with a file and another directory. */
function directory(): string {
  const path = temporaryDirectory();
  writeFileSync(join(path, 'node.yaml'), '');
  mkdirSync(join(path, 'policies'));
  return path;
}
