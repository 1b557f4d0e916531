import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, onTestFailed, onTestFinished, vi } from 'vitest';
import type { LogLine } from '../captured-log.ts';
import { taintPolicyYaml, taintRemovalReview } from '../reviews.ts';
import { temporaryDirectory, temporaryFile } from '../temporary-directory.ts';
import { PROGRAM, run } from './run-command.ts';

/** `taintkeeper serve` as a process that goes with the running test. */
async function serve(...args: string[]) {
  const directory = temporaryDirectory();
  const certDirectory = join(directory, 'certs');
  const child = spawn(
    process.execPath,
    [PROGRAM, 'serve', '--port', '0', '--host', '127.0.0.1', '--admin-port', '0', '--cert-dir', certDirectory, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) child[stream].on('data', (chunk) => (printed[stream] += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const lines = () =>
    printed.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine);
  let isOver = false;
  void ended.then(() => (isOver = true));
  onTestFailed(() => void process.stderr.write(`${printed.stdout}${printed.stderr}`));
  /** Without a time-out of its own: the runner ends a test that takes too long. */
  async function waitForLine(like: Partial<LogLine>): Promise<LogLine> {
    for (;;) {
      const found = lines().find((line) => Object.entries(like).every(([field, value]) => line[field] === value));
      if (found) return found;
      if (isOver) throw new Error(`serve ended before it logged ${JSON.stringify(like)}`);
      await Promise.race([once(child.stdout, 'data'), ended]);
    }
  }

  const serving = await waitForLine({ msg: 'serving' });
  return {
    child,
    ended,
    lines,
    waitForLine,
    serving,
    printed,
    certDirectory,
    adminUrl: String(serving.adminUrl),
    /** Posts a review, trusting only the CA in the directory. */
    async review(body: object, path = '/validate') {
      const posted = request(new URL(path, String(serving.url)), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        ca: readFileSync(join(certDirectory, 'ca.crt')),
      });
      posted.end(JSON.stringify(body));
      const [answer] = await once(posted, 'response');
      return ((await json(answer)) as { response: Record<string, unknown> }).response;
    },
  };
}

const policyFile = (text: string) => temporaryFile('policy.yaml', text);

it('serves with built-in policies and a certificate of its own, says where, and ends at SIGTERM', async () => {
  const { child, ended, lines, serving, printed, adminUrl, certDirectory, review } = await serve();

  expect(serving).toMatchObject({
    url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
    adminUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    audit: false,
  });
  expect(await review(taintRemovalReview())).toMatchObject({ uid: 'uid-1', allowed: false });
  expect(await (await fetch(`${adminUrl}/readyz`)).text()).toMatch(/\nready\n$/);

  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(lines().map(({ msg }) => msg)).toEqual([
    'policies in force',
    `issued CA (not found): ${join(certDirectory, 'ca.crt')} belongs in every caBundle`,
    'issued serving certificate (not found)',
    expect.stringMatching(/^serving certificate expires /),
    'serving',
    expect.stringMatching(/^denied .* on Node cp-1: /),
    'stopping on SIGTERM',
    'stopped',
  ]);
  expect(lines()[0]?.policies).toEqual([
    'TaintPolicy/control-plane-taints (Deny)',
    'TolerationPolicy/cni-tolerations (Mutate)',
  ]);
  expect(printed.stderr).toBe('');
  expect(printed.stdout).not.toContain('PRIVATE KEY');
});

it('a second signal, even another one, ends it at once while it waits for a request', async () => {
  const { child, ended, waitForLine, lines, serving, adminUrl, certDirectory } = await serve('--audit');
  expect(serving.audit).toBe(true);
  const posted = request(new URL('/validate', String(serving.url)), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 1_000 },
    ca: readFileSync(join(certDirectory, 'ca.crt')),
  });
  const cutOff = once(posted, 'error').catch((error) => [error]);
  posted.write('{');
  const metrics = async () => (await fetch(`${adminUrl}/metrics`)).text();
  // The process ends with the test, and the request to it then fails.
  while (!(await metrics()).includes('taintkeeper_admission_in_flight 1'));
  child.kill('SIGTERM');
  await waitForLine({ msg: 'stopping on SIGTERM' });
  child.kill('SIGINT');

  expect(await ended).toBeNull();
  expect(child.signalCode).toBe('SIGINT');
  expect(lines().at(-1)?.msg).toBe('stopping on SIGTERM');
  expect((await cutOff)[0]).toMatchObject({ code: 'ECONNRESET' });
});

describe('what keeps it from starting is said in one line, with code 2:', () => {
  // The log goes past what a test can catch.
  beforeEach(() => void vi.stubEnv('LOG_LEVEL', 'silent'));
  afterEach(() => void vi.unstubAllEnvs());

  it('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const port = String((taken.address() as AddressInfo).port);
    const certDirectory = join(temporaryDirectory(), 'certs');
    const start = (...ports: string[]) => run('serve', '--host', '127.0.0.1', '--cert-dir', certDirectory, ...ports);

    const said = (option: string) =>
      `taintkeeper: cannot listen on 127.0.0.1 port ${port} (see ${option}): listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`;
    expect(await start('--port', port, '--admin-port', '0')).toMatchObject({ code: 2, stderr: said('--port') });
    expect(await start('--port', '0', '--admin-port', port)).toMatchObject({ code: 2, stderr: said('--admin-port') });
  });

  it.each<{ why: string; args: () => string[]; env?: Record<string, string>; stderr: RegExp }>([
    {
      why: 'broken policies, with their place',
      args: () => ['--policies', policyFile(taintPolicyYaml('Deny').replace('Deny', 'deny'))],
      stderr: /^taintkeeper: .*policy\.yaml:6:3: spec\.mode: expected Deny or Restore or Audit, got "deny"\n$/,
    },
    {
      why: 'policies that are not there',
      args: () => ['--policies', '/none/such'],
      stderr: /^taintkeeper: \/none\/such: not found\n$/,
    },
    {
      why: 'a certificate directory below a file',
      args: () => ['--cert-dir', join(policyFile(''), 'certs')],
      stderr: /^taintkeeper: .*tls\.crt: not a directory\n$/,
    },
    {
      why: 'half a pair of certificate files',
      args: () => {
        const directory = temporaryDirectory();
        mkdirSync(join(directory, 'certs'));
        writeFileSync(join(directory, 'certs', 'tls.crt'), '');
        return ['--cert-dir', join(directory, 'certs')];
      },
      stderr: /^taintkeeper: .*tls\.crt is there without tls\.key: add it, or remove both\n$/,
    },
    {
      why: 'a host that there is not',
      args: () => ['--host', 'no-such-host.invalid'],
      stderr:
        /^taintkeeper: cannot listen on no-such-host\.invalid port 0 \(see --port\): getaddrinfo E[A-Z_]+ no-such-host\.invalid\n$/,
    },
    {
      why: 'an admin host that there is not',
      args: () => ['--host', '127.0.0.1', '--admin-host', 'no-such-host.invalid'],
      stderr:
        /^taintkeeper: cannot listen on no-such-host\.invalid port 0 \(see --admin-port\): getaddrinfo E[A-Z_]+ no-such-host\.invalid\n$/,
    },
    {
      why: 'a directory without a policy',
      args: () => ['--policies', temporaryDirectory()],
      stderr: /^taintkeeper: no policy found: nothing would be protected\n$/,
    },
    {
      why: 'an unknown log level',
      args: () => [],
      env: { LOG_LEVEL: 'loud' },
      stderr: /^taintkeeper: LOG_LEVEL loud: expected trace, debug, info, warn, error, fatal, silent\n$/,
    },
  ])('$why', async ({ args, env = {}, stderr }) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const certDirectory = join(temporaryDirectory(), 'certs');
    const outcome = await run('serve', '--port', '0', '--admin-port', '0', '--cert-dir', certDirectory, ...args());

    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(stderr);
  });
});
