import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { POLICY_API_PATH } from '../../../src/cluster/policies/policy-paths.ts';
import { appliedWith, PATCHED, templateOf } from '../cleanup/managed-fields.ts';
import { absentStatus } from '../cluster/client/absent.ts';
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
    annotations: { 'taintkeeper.dev/tolerations-added': 'master:NoSchedule', ...appliedWith() },
    managedFields: PATCHED,
  },
  spec: { selector: {}, template: { spec: { tolerations: [MASTER] } } },
  status: { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberUnavailable: 1 },
});

/** All of whose pods have been replaced. */
const rolledOut = (name: string) => ({
  ...daemonSet(name),
  status: { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberUnavailable: 0 },
});

async function cluster(
  onPatch: Handler,
  lists: Readonly<Record<string, readonly object[]>> = {},
  onRead: Handler = ({ path }, response) => answer(response, daemonSet(path.slice(-1))),
  /** The resource that the user may not list. */
  forbidden?: string,
  {
    defined = ['taintpolicies'],
    listed = true,
  }: { readonly defined?: readonly string[]; readonly listed?: boolean } = {},
) {
  const api = await startFakeApi((request, response) => {
    const { method, path } = request;
    if (method === 'PATCH') return onPatch(request, response);
    if (/webhookconfigurations\//.test(path)) return answer(response, absentStatus(path), 404);
    if (/admissionregistration\.k8s\.io\/v1$/.test(path)) {
      const names = ['validating', 'mutating'].map((kind) => `${kind}admissionpolicies`);
      return answer(response, { resources: names.map((name) => ({ name })) });
    }
    if (path === POLICY_API_PATH && defined.length > 0) {
      return answer(response, { resources: defined.map((name) => ({ name })) });
    }
    if (path === '/apis') return answer(response, { groups: [] });
    if (/daemonsets\/.+$/.test(path)) return onRead(request, response);
    const resource = path.split('/').at(-1) ?? '';
    if (resource === forbidden) return answer(response, refusal(403, 'Forbidden', 'you may not list it'), 403);
    if (path.startsWith(POLICY_API_PATH) && !(listed && defined.includes(resource))) {
      return answer(response, '404 page not found', 404);
    }
    const items = lists[resource] ?? (resource === 'daemonsets' ? ['a', 'b'].map(daemonSet) : []);
    return answer(response, { metadata: { resourceVersion: '1' }, items });
  });
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(api.url));
  const patched = () => api.received.filter(({ method }) => method === 'PATCH').map(({ path }) => path);
  return { patched, cleanup: (...args: string[]) => run('cleanup', ...args, '--kubeconfig', file) };
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

it.each([
  {
    args: ['--dry-run'],
    says: 'Without --tolerations, cleanup keeps 2 tolerations that taintkeeper added, and removes the annotation that records them. With --tolerations, it removes both, and the DaemonSets replace their pods.',
  },
  {
    args: [],
    says: 'Kept 2 tolerations that taintkeeper added, and removed the annotation that records them. To remove the tolerations, edit the DaemonSets.',
  },
])('tolerations that are kept are explained: cleanup $args', async ({ args, says }) => {
  const { cleanup } = await cluster(done);
  const { stdout } = await cleanup(...args);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(says);
});

it.each([['--dry-run'], [], ['--tolerations']])(
  'tolerations that the source may have by now stay, and the reason is given: cleanup %s',
  async (...args) => {
    const [a, b] = ['a', 'b'].map(daemonSet);
    const ofHelm = { ...b, metadata: { ...b?.metadata, managedFields: [templateOf('helm', 'tolerations')] } };
    const { cleanup } = await cluster(
      done,
      { daemonsets: [{ ...a, ...rolledOut('a') }, ofHelm] },
      ({ path }, response) => answer(response, rolledOut(path.slice(-1))),
    );
    const { stdout } = await cleanup(...args, '--timeout', '0');
    expect(stdout).toMatch(/^daemonsets\/net\/b +toleration master:NoSchedule +kept$/m);
    expect(stdout).toMatch(
      /also with --tolerations, because .*:\ndaemonsets\/net\/b: its list of tolerations was written since by field manager "helm" /,
    );
  },
);

it('an annotation that could not be removed still records the tolerations', async () => {
  const { cleanup } = await cluster((_, response) => answer(response, refusal(403, 'Forbidden', 'you may not'), 403));
  const { code, stdout } = await cleanup();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^daemonsets\/net\/a +annotation taintkeeper\.dev\/tolerations-added: .* +failed$/m);
  expect(stdout).not.toContain('Kept ');
});

it('startup taints that wait are removed first: they keep pods from nodes', async () => {
  const taint = { key: 'example.com/network', effect: 'NoSchedule' };
  const node = (name: string, taints: object[], annotations: object) => ({
    metadata: { name, uid: name, annotations },
    spec: { taints },
  });
  const readyWhen = { daemonSets: [{ namespace: 'net', name: 'absent' }] };
  const policy = {
    metadata: { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' },
    spec: { mode: 'Restore', taints: [{ ...taint, ensure: 'UntilReady', readyWhen }] },
  };
  const cleaned: Handler = ({ path }, response) =>
    answer(response, path.startsWith('/api/v1/nodes/') ? node(path.slice(-2), [], {}) : daemonSet(path.slice(-1)));
  const { patched, cleanup } = await cluster(cleaned, {
    nodes: [node('n1', [], { 'taintkeeper.dev/allow-removal': 'a:NoSchedule' }), node('n2', [taint], {})],
    taintpolicies: [policy],
  });
  const { stdout } = await cleanup();
  expect(stdout).toMatch(/^nodes\/n2 +startup taint example\.com\/network:NoSchedule +removed$/m);
  expect(patched().slice(0, 2)).toEqual(['/api/v1/nodes/n2', '/api/v1/nodes/n1']);
});

describe('TaintPolicies, which name the startup taints of nodes,', () => {
  it('that may not be listed: nothing is removed, and the missing right is named', async () => {
    const { patched, cleanup } = await cluster(done, {}, undefined, 'taintpolicies');
    for (const args of [[], ['--dry-run']]) {
      const { code, stdout, stderr } = await cleanup(...args);
      expect([code, stdout, patched()]).toEqual([2, '', []]);
      expect(stderr).toMatch(
        /which startup taints are left cannot be read: .*403 Forbidden: you may not list it\. Permissions: .*list taintpolicies/,
      );
    }
  });

  const NO_DEFINITION =
    "taintkeeper: note: CustomResourceDefinition taintpolicies.taintkeeper.dev does not exist: startup taints of deleted policies are unknown, and stay. To show the taints of nodes: kubectl get nodes -o custom-columns='NODE:.metadata.name,TAINTS:.spec.taints[*].key'. To remove one: kubectl taint nodes NODE KEY-\n";

  it.each([
    { why: 'the group is not served', forbidden: undefined, defined: [] },
    { why: 'the API server refuses also what it does not serve', forbidden: 'taintpolicies', defined: [] },
    {
      why: 'another version of taintkeeper has other kinds',
      forbidden: 'taintpolicies',
      defined: ['recoverypolicies'],
    },
  ])(
    'without a CustomResourceDefinition are unknown, and the rest is removed: $why',
    async ({ forbidden, defined }) => {
      const { patched, cleanup } = await cluster(done, {}, undefined, forbidden, { defined });
      expect(await cleanup()).toMatchObject({ code: 0, stderr: NO_DEFINITION });
      expect(patched()).toHaveLength(2);
    },
  );

  it('without a CustomResourceDefinition are unknown: the output does not say that nothing is left', async () => {
    const { cleanup } = await cluster(done, { daemonsets: [] }, undefined, undefined, { defined: [] });
    expect(await cleanup()).toEqual({
      code: 0,
      stdout: 'no annotations of taintkeeper are left on nodes and DaemonSets; startup taints are unknown\n',
      stderr: NO_DEFINITION,
    });
    const { stdout } = await cleanup('-o', 'json');
    expect(JSON.parse(stdout)).toEqual({ dryRun: 'none', objects: [], startupTaintsUnknown: true });
  });

  it('that are none: nothing is left', async () => {
    const { cleanup } = await cluster(done, { daemonsets: [] });
    expect(await cleanup()).toEqual({
      code: 0,
      stdout: 'nothing of taintkeeper is left on nodes and DaemonSets\n',
      stderr: '',
    });
  });

  it('that a proxy does not find are unknown: nothing is removed', async () => {
    const { patched, cleanup } = await cluster(done, {}, undefined, undefined, { listed: false });
    const { code, stdout, stderr } = await cleanup();
    expect([code, stdout, patched()]).toEqual([2, '', []]);
    expect(stderr).toMatch(/GET \S+\/taintpolicies: 404: "404 page not found"/);
  });

  describe('that cannot be used, are named with what to do', () => {
    const unusable = {
      metadata: { name: 'network', uid: 'u', generation: 3, resourceVersion: '1' },
      spec: { mode: 'Sometimes', taints: [{ key: 'example.com/network', effect: 'NoSchedule' }] },
    };
    const NOTE =
      /^taintkeeper: note: TaintPolicy network is left out: generation 3 cannot be used: spec\.mode: .+\. Its startup taints are unknown, and stay: correct it with kubectl edit taintpolicy network, and run the command again, or remove its startup taints with kubectl taint nodes\n$/;

    it('and the rest is removed', async () => {
      const { patched, cleanup } = await cluster(done, { taintpolicies: [unusable] });
      const { code, stderr } = await cleanup();
      expect([code, stderr, patched().length]).toEqual([1, expect.stringMatching(NOTE), 2]);
    });

    it('and the output does not say that nothing is left', async () => {
      const { cleanup } = await cluster(done, { taintpolicies: [unusable], daemonsets: [] });
      expect(await cleanup()).toEqual({
        code: 1,
        stdout:
          'no annotations of taintkeeper are left on nodes and DaemonSets, and no startup taints of the other policies\n',
        stderr: expect.stringMatching(NOTE),
      });
      const { stdout } = await cleanup('-o', 'json');
      expect(JSON.parse(stdout)).toEqual({ dryRun: 'none', objects: [], unusablePolicies: ['network'] });
    });
  });
});

const unavailable = refusal(503, 'ServiceUnavailable', 'etcd has no leader');

describe('an API server that is unavailable', () => {
  it('for a moment, while pods are replaced, is asked again', async () => {
    let asked = 0;
    const { patched, cleanup } = await cluster(done, {}, ({ path }, response) =>
      ++asked === 1 ? answer(response, unavailable, 503) : answer(response, rolledOut(path.slice(-1))),
    );
    expect(await cleanup('--tolerations')).toMatchObject({ code: 0 });
    expect(patched()).toHaveLength(2);
  });

  it('until the time for the rollout has passed, ends it: no other DaemonSet loses tolerations', async () => {
    const { patched, cleanup } = await cluster(done, {}, (_request, response) => answer(response, unavailable, 503));
    const { code, stdout } = await cleanup('--tolerations', '--timeout', '0');
    expect([code, patched()]).toEqual([1, ['/apis/apps/v1/namespaces/net/daemonsets/a']]);
    expect(stdout).toMatch(/^daemonsets\/net\/b +toleration master:NoSchedule +skipped$/m);
    expect(stdout).toMatch(/^daemonsets\/net\/a: .+: 503 ServiceUnavailable: etcd has no leader/m);
  });

  it('for a write, ends it: cleanup cannot know whether the pods are replaced', async () => {
    const { patched, cleanup } = await cluster((_request, response) => answer(response, unavailable, 503));
    const { code, stdout } = await cleanup('--tolerations');
    expect([code, patched()]).toEqual([1, ['/apis/apps/v1/namespaces/net/daemonsets/a']]);
    expect(stdout).toMatch(/^daemonsets\/net\/b +toleration master:NoSchedule +skipped$/m);
  });
});

it('a DaemonSet that may not be changed is no obstacle for the next one', async () => {
  const { patched, cleanup } = await cluster((_request, response) =>
    answer(response, refusal(403, 'Forbidden', 'not this one'), 403),
  );
  expect(await cleanup('--tolerations')).toMatchObject({ code: 1 });
  expect(patched()).toHaveLength(2);
});

it('cleanup gives up an object that another writer changes before each of its writes', async () => {
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

  it('that may not be listed may be in force, and nothing is removed', async () => {
    const { patched, cleanup } = await cluster(done, {}, undefined, 'validatingadmissionpolicybindings');
    const { code, stdout, stderr } = await cleanup();
    expect([code, stdout, patched()]).toEqual([2, '', []]);
    expect(stderr).toMatch(/^taintkeeper: whether native policies of taintkeeper are in force cannot be read: /);
    expect(stderr).toMatch(/403 Forbidden: you may not list it\. Permissions: .*validatingadmissionpolicybindings/);
  });

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
