import { describe, expect, it } from 'vitest';
import { allCommands } from '../../../src/cli/commands.ts';
import { syntaxOf } from '../../../src/cli/completion/syntax.ts';
import { createProgram } from '../../../src/cli/main.ts';
import { run } from './run-command.ts';

/** What a pipeline shows beside the lines of a file, or as tests. */
const PIPELINES = ['github', 'sarif', 'junit'];
const FORMATS = ['table', 'wide', 'json', 'yaml', ...PIPELINES];

const syntaxes = syntaxOf(createProgram(allCommands(() => {})));
const optionsOf = (path: string) => syntaxes.find((syntax) => syntax.path === path)?.options ?? [];

/** What is offered for the last word of a line, after the program's name. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run('__complete', ...words);
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.replace(/\t.*/, ''));
}

describe('the last word of a line', () => {
  it.each<{ line: string; offers: string[]; not: string[] }>([
    {
      line: '',
      offers: ['review', 'serve', 'certs', 'completion', 'help'],
      not: ['status', '--old', ':files', '__complete'],
    },
    { line: 'se', offers: ['serve'], not: ['review'] },
    { line: 'certs ', offers: ['status', 'rotate'], not: ['serve', ':files'] },
    { line: 'certs status --k', offers: ['--kubeconfig'], not: ['--namespace'] },
    { line: 'certs rotate --', offers: ['--ca', '--timeout'], not: ['--output'] },
    { line: 'review --output ', offers: FORMATS, not: [':files'] },
    { line: 'review -o ', offers: FORMATS, not: [':files'] },
    { line: 'review -o y', offers: ['yaml'], not: ['json'] },
    { line: 'review --output=', offers: FORMATS.map((format) => `--output=${format}`), not: FORMATS },
    { line: 'review --output=j', offers: ['--output=json', '--output=junit'], not: ['--output=yaml'] },
    { line: 'review --output = j', offers: ['json', 'junit'], not: ['yaml'] },
    { line: 'review --output =', offers: FORMATS, not: [] },
    { line: 'review --old ', offers: [':files'], not: ['review'] },
    { line: 'review --old=', offers: [':files'], not: [] },
    { line: 'review --user ', offers: [], not: [':files', 'serve'] },
    { line: 'review --user certs ', offers: [':files'], not: ['status'] },
    { line: 'review no', offers: [':files'], not: [] },
    { line: 'review --patched no', offers: [':files'], not: [] },
    { line: 'serve --policies a.yaml --policies no', offers: [':files'], not: [] },
    { line: 'serve --policies a.yaml --por', offers: ['--port'], not: [':files'] },
    { line: 'completion ', offers: ['bash', 'fish', 'zsh'], not: [':files'] },
    { line: 'coverage ', offers: ['fix', 'migrate', 'tolerations', ':files'], not: ['serve'] },
    { line: 'coverage node.yaml no', offers: [':files'], not: ['fix'] },
    { line: 'coverage node.yaml ', offers: [':files'], not: ['fix'] },
    { line: 'coverage node.yaml --ga', offers: ['--gaps'], not: ['--as'] },
    { line: 'coverage fix --', offers: ['--as', '--taint'], not: ['--gaps', '--pods'] },
    { line: 'coverage fix no', offers: [':files'], not: ['migrate'] },
    { line: 'help cer', offers: ['certs'], not: ['serve'] },
    { line: 'nothing of ours ', offers: [], not: ['serve', ':files'] },
  ])('taintkeeper $line⇥', async ({ line, offers, not }) => {
    const found = await offered(...line.split(' '));
    expect(found).toEqual(expect.arrayContaining(offers));
    for (const word of not) expect.soft(found).not.toContain(word);
  });

  it('may be any option of a command', async () => {
    for (const { path, options } of syntaxes) {
      const found = await offered(...path.split(' ').slice(1), '-');
      expect(found, path).toEqual(options.flatMap(({ flags }) => flags));
    }
  });

  it('has a description, where there is one', async () => {
    const { stdout } = await run('__complete', 'ser');
    expect(stdout).toMatch(/^serve\t\w.*\n$/);
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

it('each command with --output offers the formats that it has, with -o and --output', () => {
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
