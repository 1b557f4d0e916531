import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { kubeconfigText } from '../cluster/client/fake-api.ts';
import { startPortForwardingApi } from '../dashboard/port-forwarding-api.ts';
import { startReplica } from '../dashboard/replicas.ts';
import { eventually } from '../eventually.ts';
import { openStream } from '../page/streams.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { PROGRAM, run } from './run-command.ts';

/** `taintkeeper dashboard` as a process that goes with the running test. */
async function dashboard(...args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, 'dashboard', '--no-open', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) child[stream].on('data', (chunk) => (printed[stream] += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  await eventually(() => expect(printed.stdout, printed.stderr).toMatch(/\n/));
  return { url: printed.stdout.trim(), printed, child, ended };
}

it('shows the leader, hears all replicas through port-forwards, and ends on SIGTERM', async () => {
  const [a, b] = await Promise.all([startReplica('tk-a', 'tk-b'), startReplica('tk-b')]);
  const api = await startPortForwardingApi({ 'tk-a': Number(a.url.port), 'tk-b': Number(b.url.port) }, 'tk-b');
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(api.url));
  const { url, printed, child, ended } = await dashboard('--kubeconfig', file, '--namespace', 'tk');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);

  expect(await (await fetch(url)).text()).toContain('<title>tk-b</title>');
  const stream = await openStream(`${url}api/events`);
  a.decide('of a');
  expect(await stream.nextDecision()).toMatchObject({ uid: 'of a', replica: 'tk-a' });
  b.decide('of b');
  expect(await stream.nextDecision()).toMatchObject({ uid: 'of b', replica: 'tk-b' });
  expect(api.forwarded).toContain('/api/v1/namespaces/tk/pods/tk-a/portforward?ports=8080');

  child.kill('SIGTERM');
  expect([await ended, printed.stderr]).toEqual([0, '']);
});

it('shows the taintkeepers at the addresses that it is given', async () => {
  const [a, b] = await Promise.all([startReplica('tk-a', 'tk-b'), startReplica('tk-b')]);
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const exited = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  onTestFinished(() => void vi.restoreAllMocks());
  const ended = main(['dashboard', '--no-open', '--url', a.url.href, '--url', b.url.href]);
  await eventually(() => expect(printed).toHaveBeenCalled());
  const url = String(printed.mock.calls[0]?.[0]).trim();
  const state = await (await fetch(`${url}api/state`)).json();
  expect(state).toMatchObject({ replica: 'tk-b', leader: { isThis: true } });

  process.emit('SIGINT', 'SIGINT');
  await ended;
  expect(exited.mock.calls).toEqual([[0]]);
});

describe('bad input', () => {
  it.each([
    { why: 'TLS', args: ['--url', 'https://localhost:8080'], says: /Expected http:\/\/HOST:PORT/ },
    { why: 'a path', args: ['--url', 'http://localhost:8080/x'], says: /Expected http:\/\/HOST:PORT/ },
    { why: 'no URL', args: ['--url', 'localhost'], says: /Expected http:\/\/HOST:PORT/ },
    {
      why: 'an address and a cluster',
      args: ['--url', 'http://localhost:1', '--namespace', 'x', '--kubeconfig', 'y'],
      says: /--kubeconfig cannot be used with --url\n.*--namespace cannot be used with --url/,
    },
    { why: 'no such kubeconfig', args: ['--kubeconfig', '/nowhere'], says: /\/nowhere: not found/ },
  ])('$why', async ({ args, says }) => {
    const { code, stdout, stderr } = await run('dashboard', '--no-open', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(says);
  });

  it('a Service without pods', async () => {
    const api = await startPortForwardingApi({}, '');
    const file = join(temporaryDirectory(), 'kubeconfig');
    writeFileSync(file, kubeconfigText(api.url));
    const { code, stderr } = await run('dashboard', '--no-open', '--kubeconfig', file, '--namespace', 'tk');
    expect([code, stderr]).toEqual([
      2,
      'taintkeeper: Service tk/taintkeeper leads to no pod with a port named metrics\n',
    ]);
  });
});
