import { expect, it } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { syntaxOf } from '../../src/cli/completion/syntax.ts';
import { createProgram } from '../../src/cli/main.ts';
import { run } from '../unit/cli/run-command.ts';
import { describeCompletion } from './shell-completion.ts';

/** What a pipeline shows beside the lines of a file, or as tests. */
const PIPELINES = ['github', 'sarif', 'junit'];

const syntaxes = syntaxOf(createProgram(allCommands(() => {})));
const optionsOf = (path: string) => syntaxes.find((syntax) => syntax.path === path)?.options ?? [];

describeCompletion('bash');

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
