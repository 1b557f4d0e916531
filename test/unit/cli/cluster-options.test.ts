import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../temporary-directory.ts';
import { run } from './run-command.ts';

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
    says: 'taintkeeper: --policies means nothing with --cluster\n',
  },
  {
    why: 'only a cluster has a Service and a Secret',
    args: ['serve', '--service', 'x', '--secret', 'y'],
    says: 'taintkeeper: --service needs --cluster\ntaintkeeper: --secret needs --cluster\n',
  },
])('an option that would do nothing is refused: $why', async ({ args, says }) => {
  expect(await run(...args)).toEqual({ code: 2, stdout: '', stderr: says });
});

it.each([
  ['serve', '--cluster'],
  ['certs', 'status'],
  ['certs', 'rotate', '--ca'],
])('%s %s without a namespace says how to name it', async (...args) => {
  const outcome = await run(...args, '--kubeconfig', unreachable());
  expect(outcome).toEqual({
    code: 2,
    stdout: '',
    stderr: "taintkeeper: taintkeeper's namespace is not known: name it with --namespace\n",
  });
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
