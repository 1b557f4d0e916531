import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

async function cluster(onPatch: Handler, bindings: Readonly<Record<string, readonly object[]>> = {}) {
  const api = await startFakeApi((request, response) => {
    const { method, path } = request;
    if (method === 'PATCH') return onPatch(request, response);
    if (/webhookconfigurations\//.test(path)) return answer(response, refusal(404, 'NotFound', 'not found'), 404);
    if (/admissionregistration\.k8s\.io\/v1$/.test(path)) {
      const names = ['validating', 'mutating'].map((kind) => `${kind}admissionpolicies`);
      return answer(response, { resources: names.map((name) => ({ name })) });
    }
    const resource = path.split('/').at(-1) ?? '';
    const items = resource === 'daemonsets' ? ['a', 'b'].map(daemonSet) : (bindings[resource] ?? []);
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

/** Of a leader's, unless somebody has exported it. */
const binding = (name: string, labels: object = { 'app.kubernetes.io/managed-by': 'taintkeeper' }) => ({
  metadata: { name, uid: name, resourceVersion: '1', labels, ownerReferences: [{ kind: 'ClusterRole', uid: 'u' }] },
  spec: { policyName: name },
});

describe('native policies', () => {
  it.each(['validatingadmissionpolicybindings', 'mutatingadmissionpolicybindings'])(
    'that a leader wrote are at work, and nothing is removed: %s',
    async (resource) => {
      const { patched, cleanup } = await cluster(done, {
        [resource]: [binding('gpu.authorize-pods.taintkeeper.dev'), binding('other.example.com')],
      });
      const refused = await cleanup();
      expect([refused.code, refused.stdout, patched()]).toEqual([2, '', []]);
      expect(refused.stderr).toMatch(
        /native policies of taintkeeper are in force: gpu\.authorize-pods\.taintkeeper\.dev: it is installed, or not wholly removed\. Uninstall it first/,
      );
      const looked = await cleanup('--dry-run');
      expect([looked.code, looked.stderr]).toEqual([
        0,
        'taintkeeper: note: native policies of taintkeeper are in force: gpu.authorize-pods.taintkeeper.dev: it is installed, or not wholly removed\n',
      ]);
    },
  );

  it('that were exported go on writing, which is said', async () => {
    const { patched, cleanup } = await cluster(done, {
      mutatingadmissionpolicybindings: [binding('gpu.restore.taintkeeper.dev', {})],
      validatingadmissionpolicybindings: [binding('gpu.protect.taintkeeper.dev', {})],
    });
    const { code, stderr } = await cleanup();
    expect([code, stderr, patched().length]).toEqual([
      0,
      'taintkeeper: note: native policies are in force, and go on writing annotations to nodes: gpu.restore.taintkeeper.dev\n',
      2,
    ]);
  });

  it('without bindings do nothing, and are no obstacle', async () => {
    const { cleanup } = await cluster(done, {
      validatingadmissionpolicies: [binding('gpu.authorize-pods.taintkeeper.dev')],
    });
    expect(await cleanup()).toMatchObject({ code: 0, stderr: '' });
  });
});
