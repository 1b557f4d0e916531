import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { syntaxOf } from '../../src/cli/completion/syntax.ts';
import { createProgram } from '../../src/cli/main.ts';
import { skipFor } from '../skip-for.ts';
import { run } from '../unit/cli/run-command.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { isInstalled, SHELLS } from './shells.ts';

/** What a pipeline shows beside the lines of a file, or as tests. */
const PIPELINES = ['github', 'sarif', 'junit'];

const syntaxes = syntaxOf(createProgram(allCommands(() => {})));
const optionsOf = (path: string) => syntaxes.find((syntax) => syntax.path === path)?.options ?? [];

for (const shell of SHELLS)
  describe(shell.name, skipFor(isInstalled(shell) ? undefined : `there is no ${shell.name}`), () => {
    const { name } = shell;

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

it('options and commands are those of the help, hidden ones left out', () => {
  const program = createProgram(allCommands(() => {}));
  expect(syntaxes.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['taintkeeper', 'taintkeeper serve', 'taintkeeper certs rotate', 'taintkeeper help']),
  );
  expect(syntaxes[0]?.commands.map(({ name }) => name)).toEqual([
    ...program.commands.map((command) => command.name()),
    'help',
  ]);
  expect(optionsOf('taintkeeper review').find(({ flags }) => flags.includes('--output'))).toEqual({
    flags: ['-o', '--output'],
    description: 'output format',
    value: { kind: 'choices', choices: ['table', 'wide', 'json', 'yaml', ...PIPELINES] },
  });
});

function choicesOf(path: string): string[] {
  if (/ (talos policies|export)$/.test(path)) return ['yaml', 'json'];
  if (path.endsWith(' coverage fix')) return ['text', 'json'];
  // It has no table whose names are left out.
  if (path.endsWith(' talos lint')) return ['table', 'json', 'yaml', 'github', 'sarif'];
  return ['table', 'wide', 'json', 'yaml', ...(path.endsWith(' review') ? PIPELINES : [])];
}

it('whoever has an output format has JSON and YAML, and a table where nothing is meant for kubectl', () => {
  const outputs = syntaxes.flatMap(({ path, options }) =>
    options.filter(({ flags }) => flags.includes('--output')).map((option) => ({ path, ...option })),
  );
  expect(outputs.length).toBeGreaterThan(1);
  for (const { path, flags, value } of outputs) {
    expect(flags).toEqual(['-o', '--output']);
    expect(value, path).toEqual({ kind: 'choices', choices: choicesOf(path) });
  }
});

it('a shell that it does not know ends in code 2, and names those that it does', async () => {
  expect(await run('completion', 'tcsh')).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Allowed choices are bash, zsh, fish.'),
  });
});

/** A directory with a file and another directory. */
function directory(): string {
  const path = temporaryDirectory();
  writeFileSync(join(path, 'node.yaml'), '');
  mkdirSync(join(path, 'policies'));
  return path;
}
