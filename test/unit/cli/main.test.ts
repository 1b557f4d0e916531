import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { VERSION } from '../../../src/version.ts';
import { skipFor } from '../../skip-for.ts';
import { PROGRAM, run, runProcess, runWithInput } from './run-command.ts';

const REVIEW = fileURLToPath(new URL('../../../examples/remove-control-plane-taint.json', import.meta.url));

it.each(['--version', '-V'])('%s is that of package.json', async (arg) => {
  expect(await run(arg)).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
});

it.each([[['--help']], [['help']], [['serve', '--help']], [['help', 'review']]])(
  '%s is no error, and goes to standard output',
  async (args) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: taintkeeper/);
  },
);

describe('what is wrong with the command line ends in code 2 and says what to do', () => {
  it.each([
    { args: [], says: 'Usage: taintkeeper' },
    { args: ['revew'], says: 'Did you mean review?' },
    { args: ['frob'], says: '(taintkeeper --help shows the commands)' },
    { args: ['talos', 'frob'], says: '(taintkeeper talos --help shows the commands)' },
    { args: ['talos', 'lint'], says: 'no input files: pass FILE' },
    { args: ['serve', '--polices', 'x'], says: 'Did you mean --policies?' },
    { args: ['review', '--patchd', 'x'], says: 'Did you mean --patched?' },
    { args: ['serve', '--prt', '1'], says: 'Did you mean --port?' },
    { args: ['serve', 'now'], says: 'too many arguments' },
    { args: ['serve', '--port', '65536'], says: 'Expected a port from 0 to 65535.' },
    { args: ['serve', '--port', '-1'], says: 'Expected a port from 0 to 65535.' },
    { args: ['serve', '--admin-port', '80x'], says: 'Expected a port from 0 to 65535.' },
    { args: ['serve', '--port', ''], says: 'Expected a port from 0 to 65535.' },
    { args: ['serve', '--port'], says: 'argument missing' },
    { args: ['serve', '--policies', 'a.yaml', 'b.yaml'], says: 'too many arguments' },
    { args: ['serve', '--policies', 'no/a', '--policies', 'no/b'], says: 'no/a: not found' },
    { args: ['serve', '--san', 'a_b'], says: 'Expected a DNS name or an IP address.' },
    { args: ['serve', '--san', 'ok.example', '--san', 'https://x'], says: 'Expected a DNS name or an IP address.' },
    { args: ['serve', '--san', 'fe80::1%eth0'], says: 'Expected a DNS name or an IP address.' },
    { args: ['serve', '--san', '::ffff:10.0.0.1'], says: 'Expected a DNS name or an IP address.' },
    { args: ['review', '-o', 'xml', 'x'], says: 'Allowed choices are table, wide, json, yaml, github, sarif.' },
    { args: ['review', '--policies'], says: 'argument missing' },
  ])('$args', async ({ args, says }) => {
    const { code, stdout, stderr } = await run(...args);

    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(says);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('what a message quotes reaches no terminal as more than text:', () => {
  const ESCAPES = '\u001B[31m\u009B31m\u202E\u2028';

  it.each([
    { why: 'an argument that is none', args: [`fro${ESCAPES}b`] },
    { why: 'an option that is none', args: ['review', `--${ESCAPES}`] },
    { why: 'a file that is not there', args: ['review', `no${ESCAPES}such.yaml`] },
    {
      why: 'what stands in a file',
      args: ['review', '-'],
      stdin: `{ ${JSON.stringify(`a${ESCAPES}`)}: *a${ESCAPES} }`,
    },
  ])('$why', async ({ args, stdin = '' }) => {
    const { code, stderr } = await runWithInput(stdin, ...args);

    expect(code).toBe(2);
    expect(stderr).toContain('\\u{');
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\u202E]/u);
  });
});

it('as a process, the exit code is the one of the command line', async () => {
  const [version, wrong] = await Promise.all([runProcess(['--version']), runProcess(['--versoin'])]);

  expect(version).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Did you mean --version?') });
});

it("an error of taintkeeper's own ends in code 70, and shows its stack", async () => {
  let stderr = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    stderr += chunk;
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation(() => {
    throw new TypeError('no such thing');
  });
  onTestFinished(() => void vi.restoreAllMocks());

  expect(await main(['review', REVIEW])).toBe(70);
  expect(stderr).toMatch(
    /^taintkeeper: internal error, please report it: TypeError: no such thing\n {4}at .*review\.ts:\d+/s,
  );
});

it('a reader that stops reading ends it without a message, and not with 0: findings may not have been read', async () => {
  const nodes = Array.from({ length: 20_000 }, (_, i) => ({
    metadata: { name: `a-node-with-quite-a-long-name-${i}` },
  }));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'NodeList', items: nodes });
  // A pipe of the shell's: the one that Node.js makes for a child is a socket.
  const script = '{ "$@"; echo "exit code $?" >&2; } | head -n 1';
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, PROGRAM, 'review', '-']);
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end(list);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);

  expect(stdout).toMatch(/^OBJECT +OPERATION +RESULT +POLICY +WHAT\n$/);
  expect(stderr).toBe('exit code 141\n');
});

it(
  'output that cannot be written ends it with 2 and one line, not with an answer',
  skipFor(existsSync('/dev/full') ? undefined : 'there is no /dev/full'),
  async () => {
    const child = spawn('sh', [
      '-c',
      '"$@" >/dev/full',
      'sh',
      process.execPath,
      PROGRAM,
      'coverage',
      'examples/mixed-cluster.yaml',
    ]);
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);

    expect(stderr).toBe('taintkeeper: cannot write the output: ENOSPC: no space left on device, write\n');
    expect(code).toBe(2);
  },
);
