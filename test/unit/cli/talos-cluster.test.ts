import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { run } from './run-command.ts';

const GPU_YAML = join(import.meta.dirname, '..', '..', '..', 'examples', 'talos', 'gpu.yaml');

it('talos drift reads the nodes page by page, the asked-for ones only', async () => {
  const names = Array.from({ length: 5 }, (_, index) => `gpu-${index}`);
  const api = await startFakeApi(({ query }, response) => {
    const at = Number(query.continue ?? 0);
    // Once, the rest of the list is no longer available.
    if (at > 0 && api.received.length === 2) return answer(response, refusal(410, 'Expired', 'too old'), 410);
    const labels = { pool: 'gpu', 'topology.kubernetes.io/zone': 'rack-7' };
    answer(response, {
      metadata: { resourceVersion: '1', ...(at + 2 < names.length ? { continue: String(at + 2) } : {}) },
      items: names.slice(at, at + 2).map((name) => ({ metadata: { name, labels }, spec: {} })),
    });
  });
  const { file } = await clientFor(api.url);
  const { code, stdout } = await run(
    'talos',
    'drift',
    GPU_YAML,
    '--kubeconfig',
    file,
    '-l',
    'pool in (gpu)',
    '-o',
    'json',
  );
  expect(code).toBe(1);
  expect(JSON.parse(stdout).nodes.map(({ name }: { name: string }) => name)).toEqual(names);
  expect(api.received.map(({ path, query }) => [path, query.labelSelector, Number(query.limit) > 0])).toEqual(
    Array(5).fill(['/api/v1/nodes', 'pool in (gpu)', true]),
  );
});

it.each([
  {
    what: 'is refused',
    status: 403,
    body: refusal(403, 'Forbidden', 'nodes is forbidden: not for you'),
    fault: /not for you/,
  },
  {
    what: 'gets a Node that is none',
    status: 200,
    body: { metadata: { resourceVersion: '1' }, items: [{ spec: {} }] },
    fault: /metadata/,
  },
])('talos drift that $what ends with 2', async ({ status, body, fault }) => {
  const api = await startFakeApi((_, response) => answer(response, body, status));
  const { file } = await clientFor(api.url);
  const { code, stdout, stderr } = await run('talos', 'drift', GPU_YAML, '--kubeconfig', file);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(fault);
});
