import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answer, type Handler, kubeconfigText, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { run } from './run-command.ts';

const MASTER = { key: 'master', operator: 'Exists', effect: 'NoSchedule' };

/** Whose new pods never come. */
const daemonSet = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: {
    name,
    namespace: 'net',
    generation: 2,
    annotations: { 'taintkeeper.dev/tolerations-added': 'master:NoSchedule' },
  },
  spec: { selector: {}, template: { spec: { tolerations: [MASTER] } } },
  status: { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberUnavailable: 1 },
});

async function cluster(onPatch: Handler) {
  const api = await startFakeApi((request, response) => {
    const { method, path } = request;
    if (method === 'PATCH') return onPatch(request, response);
    if (/webhookconfigurations\//.test(path)) return answer(response, refusal(404, 'NotFound', 'not found'), 404);
    const items = path.endsWith('/daemonsets') ? ['a', 'b'].map(daemonSet) : [];
    const name = /daemonsets\/(.+)$/.exec(path)?.[1];
    return answer(response, name ? daemonSet(name) : { metadata: { resourceVersion: '1' }, items });
  });
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(api.url));
  const patched = () => api.received.filter(({ method }) => method === 'PATCH').map(({ path }) => path);
  return { patched, cleanup: (...args: string[]) => run('cleanup', '--kubeconfig', file, ...args) };
}

const done: Handler = ({ path }, response) => answer(response, daemonSet(path.slice(-1)));

it('a DaemonSet whose pods do not come again is the last one that loses tolerations', async () => {
  const { patched, cleanup } = await cluster(done);
  const { code, stdout } = await cleanup('--tolerations', '--timeout', '0');

  expect(code).toBe(1);
  expect(patched()).toEqual(['/apis/apps/v1/namespaces/net/daemonsets/a']);
  expect(stdout).toMatch(/^daemonsets\/net\/a +toleration master:NoSchedule +failed$/m);
  expect(stdout).toMatch(/^daemonsets\/net\/b +toleration master:NoSchedule +skipped$/m);
  expect(stdout).toMatch(/^daemonsets\/net\/a: its pods were not all replaced and available within 0 s/m);
});

it('what somebody else writes each time is given up in the end', async () => {
  const { patched, cleanup } = await cluster((_request, response) =>
    answer(response, refusal(422, 'Invalid', 'the server rejected our request due to an error in our request'), 422),
  );
  const { code, stdout } = await cleanup();

  expect([code, patched().length]).toEqual([1, 10]);
  expect(stdout).toMatch(/^daemonsets\/net\/b +annotation \S+: master:NoSchedule +failed$/m);
});

it('what a dry run shows is not written', async () => {
  const { patched, cleanup } = await cluster(done);
  const { code, stdout } = await cleanup('--dry-run', '--tolerations');

  expect([code, patched()]).toEqual([0, []]);
  expect(stdout.match(/removed \(dry run\)$/gm)).toHaveLength(4);
});
