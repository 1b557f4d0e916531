import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../temporary-directory.ts';
import { PROGRAM, run } from './run-command.ts';

/** A port of the loopback that nobody listens on now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A kubeconfig that names a port where nobody listens. */
function unreachable(namespace?: string): string {
  const file = join(temporaryDirectory(), 'kubeconfig');
  const config = {
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
    users: [{ name: 'u', user: { token: 'secret-token' } }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

it.each([
  {
    why: 'policies come from the cluster',
    args: ['serve', '--cluster', '--policies', 'x'],
    says: 'taintkeeper: --policies cannot be used with --cluster\n',
  },
  {
    why: 'only a cluster has a Service and a ConfigMap',
    args: ['serve', '--namespace', 'x', '--default-policies', 'y'],
    says: 'taintkeeper: --namespace needs --cluster\ntaintkeeper: --default-policies needs --cluster\n',
  },
])('an option that would do nothing is refused: $why', async ({ args, says }) => {
  expect(await run(...args)).toEqual({ code: 2, stdout: '', stderr: says });
});

it.each([undefined, 'apps'])(
  'taintkeeper is looked for in the namespace of that name, with a context of %s',
  async (namespace) => {
    const { stderr } = await run('certs', 'status', '--kubeconfig', unreachable(namespace));
    expect(stderr).toContain('/api/v1/namespaces/taintkeeper/secrets/');
  },
);

it('the namespace may be given as kubectl takes it', async () => {
  const { stderr } = await run('certs', 'status', '-n', 'guard', '--kubeconfig', unreachable());
  expect(stderr).toContain('/api/v1/namespaces/guard/secrets/');
});

it.each(['status', 'rotate'])(
  'certs %s of a cluster that does not answer is one line, without the token',
  async (command) => {
    const { code, stdout, stderr } = await run('certs', command, '--kubeconfig', unreachable('ns'));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^taintkeeper: GET \S+: connect ECONNREFUSED 127\.0\.0\.1:9\n$/);
  },
);

it.each([['certs'], ['certs', 'rotate', '--timeout', '-1'], ['serve', '--shutdown-delay', '1.5']])(
  'bad usage of %s ends in code 2',
  async (...args) => {
    expect((await run(...args)).code).toBe(2);
  },
);

it('serve --cluster waits for an API server that is away: alive, not ready, and ended by SIGTERM', async () => {
  const port = await freePort();
  const child = spawn(process.execPath, [
    PROGRAM,
    ...['serve', '--cluster', '--kubeconfig', unreachable('ns'), '--port', '0', '--admin-port', `${port}`],
  ]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  const ended = once(child, 'exit');
  // Its probes are served by then.
  const asks = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      if (printed.includes('certificates: GET ')) resolve();
    });
  });
  await Promise.race([asks, ended]);

  const probe = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  expect((await probe('/livez')).status, printed).toBe(200);
  const ready = await probe('/readyz');
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain('[-] certificate failed: there is none yet');

  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(printed).toContain('stopped on SIGTERM before it served');
});
