import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { kubeconfigText } from '../cluster/client/fake-api.ts';
import { startPortForwardingApi } from '../cluster/port-forward/port-forwarding-api.ts';
import { eventually } from '../eventually.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { PROGRAM, run } from './run-command.ts';

function kubeconfigFor(url: string): string {
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(url));
  return file;
}

/** The admin listener of a replica. `/stream` never ends. */
async function startReplica(name: string): Promise<number> {
  const server = createServer(({ url, headers }, response: ServerResponse) => {
    response.write(`${name} is asked for ${headers.host}`);
    if (url !== '/stream') response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

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

it("forwards to the leader's page, follows another leader, and ends on SIGTERM", async () => {
  const [a, b] = await Promise.all([startReplica('tk-a'), startReplica('tk-b')]);
  const api = await startPortForwardingApi({ 'tk-a': a, 'tk-b': b }, 'tk-a');
  const { url, printed, child, ended } = await dashboard('--kubeconfig', kubeconfigFor(api.url), '--namespace', 'tk');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  // The page refuses other hosts, so it has to know for which one it is asked.
  expect(await (await fetch(url)).text()).toBe(`tk-a is asked for ${new URL(url).host}`);
  expect(new Set(api.forwarded)).toEqual(new Set(['/api/v1/namespaces/tk/pods/tk-a/portforward?ports=8080']));

  const stream = await fetch(`${url}stream`);
  api.setLeader('tk-b');
  await expect(stream.text()).rejects.toThrow();
  expect(await (await fetch(url)).text()).toMatch(/^tk-b /);
  expect(printed.stderr).toBe('taintkeeper: the leader is now tk-b\n');

  const open = await fetch(`${url}stream`);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  await expect(open.text()).rejects.toThrow();
});

it('says once that there is no leader any more, and that there is one again', async () => {
  const a = await startReplica('tk-a');
  const api = await startPortForwardingApi({ 'tk-a': a }, 'tk-a');
  const { printed } = await dashboard('--kubeconfig', kubeconfigFor(api.url), '--namespace', 'tk');
  api.setLeader('');
  await eventually(() => expect(printed.stderr).not.toBe(''));
  api.setLeader('tk-a');
  await eventually(() => expect(printed.stderr.split('\n')).toHaveLength(3));
  expect(printed.stderr).toBe(
    'taintkeeper: cannot find the leader: no replica leads (Lease tk/taintkeeper); to see why: taintkeeper doctor\n' +
      'taintkeeper: the leader is known again\n',
  );
});

it.each([
  {
    why: 'no replica leads',
    leader: '',
    says: 'taintkeeper: no replica leads (Lease tk/taintkeeper); to see why: taintkeeper doctor\n',
  },
  {
    why: 'its pod does not exist',
    leader: 'tk-x',
    says: "taintkeeper: the leader's pod tk/tk-x does not exist; after a crash, another replica leads within 17 s. If none does: taintkeeper doctor\n",
  },
  {
    why: 'the port may not be forwarded',
    leader: 'tk-a',
    says: 'taintkeeper: cannot forward port 8080 of pod tk-a: Unexpected server response: 403; it needs permission to get and create pods/portforward\n',
  },
])('prints no address where $why', async ({ leader, says }) => {
  const api = await startPortForwardingApi({ 'tk-a': undefined }, leader);
  const found = await run('dashboard', '--no-open', '--kubeconfig', kubeconfigFor(api.url), '--namespace', 'tk');
  expect(found).toEqual({ code: 2, stdout: '', stderr: says });
});

it('refuses a kubeconfig that does not exist', async () => {
  const { code, stderr } = await run('dashboard', '--no-open', '--kubeconfig', '/nowhere');
  expect([code, stderr]).toEqual([2, expect.stringContaining('/nowhere: not found')]);
});
