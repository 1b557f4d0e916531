import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, taintkeeperAccount } from '../control-plane/replicas.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { allPages, shellCommandsOf } from '../unit/docs/pages.ts';
import { certificateData } from './certificate-data.ts';
import { createDaemonSet, daemonSetManifest, daemonSetPath, getDaemonSet } from './daemon-sets.ts';
import { createTaintPolicy, waitForEvent } from './drift.ts';
import { definition } from './foreign-definitions.ts';
import { guideLines } from './guide-commands.ts';
import {
  CONTROL_PLANE_TAINT,
  configurationPath,
  type Installation,
  install,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';
import type { Deployment } from './kubernetes-objects.ts';
import { type Attempt, attempt, GPU, getNode, kubectl, path, RELEASE, taintsOf } from './nodes.ts';
import { runInShell } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { permitPods } from './who-may.ts';

const PAGES = ['docs/on-call.md', 'docs/troubleshooting.md', 'docs/upgrading.md', 'docs/talos.md'];
const RETRY = 'kubectl -n NAMESPACE annotate daemonset DAEMONSET';
const OWNERS = "kubectl -n NAMESPACE get daemonset DAEMONSET -o jsonpath='{.metadata.";
const COMMANDS = [...new Set(allPages().flatMap((page) => (PAGES.includes(page.path) ? shellCommandsOf(page) : [])))];

/** What another file runs, by the beginning of the command. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'kubectl get clusterrole taintkeeper': './removal.test.ts',
  'kubectl delete --ignore-not-found clusterrole': './removal.test.ts',
  'kubectl apply -f clusterrole.yaml': './removal.test.ts',
  'helm upgrade': './switch-to-helm.test.ts',
  'helm get manifest': './switch-to-helm.test.ts',
  'helm history': './switch-to-helm.test.ts',
  'helm rollback': './switch-to-helm.test.ts',
  'kubectl label node NODE ': './talos.test.ts',
  'taintkeeper talos': './talos.test.ts',
  'kubeadm init phase': '../places/kubeadm/mixed-cluster.test.ts',
  // It runs the program in a pod, which only a kubelet starts: here the program has the rights of that pod.
  'taintkeeper() {': '../unit/docs/on-call.test.ts',
};
/** What only a kubelet answers. */
const NOT_RUN = ['kubectl -n taintkeeper logs '];

/** The runbooks, with their commands that need no kubelet. The doctor, which all of them run, runs above. */
const RUNBOOKS = allPages().flatMap(({ path, text }) =>
  path.startsWith('docs/runbooks/')
    ? [
        {
          path,
          commands: shellCommandsOf({ path, text }).filter((one) => !/ logs | top | delete pod |doctor/.test(one)),
        },
      ]
    : [],
);

/** A command with its words in capitals replaced. */
function fill(command: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce(
    (text, [word, value]) => text.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), value),
    command,
  );
}

const CONTROL_PLANE_KEY = CONTROL_PLANE_TAINT.key;
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/taintkeeper`;
const FLANNEL = { namespace: 'kube-flannel', name: 'kube-flannel-ds' };
const OWN_TOLERATIONS = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' },
  { key: CONTROL_PLANE_KEY, operator: 'Exists', effect: 'NoSchedule' },
];
const GPU_TOLERATION = { key: GPU.key, operator: 'Exists', effect: GPU.effect };
const DAEMON_SETS = { namespaces: [FLANNEL.namespace] };
const TIMEOUT_MS = 60_000;

vi.setConfig({ testTimeout: 120_000 });

describeWithControlPlane('the commands for those who are on call', {}, (cp) => {
  let installation: Installation;
  let workspace: Workspace;
  const done = new Set<string>();

  beforeAll(async () => {
    workspace = createWorkspace('on-call');
    symlinkSync(new URL('../../manifests', import.meta.url).pathname, workspace.path('manifests'));
    installation = await install(cp(), ['nativePolicies']);
    await installation.start(['a', 'b']);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    const certificates = definition('cert-manager.io', 'v1', 'Certificate', 'certificates');
    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', certificates);
    // Nodes that registered before their policy existed. A user keeps the taint off the second one.
    for (const name of ['gpu-1', 'gpu-2']) {
      const body = { metadata: { name, labels: { pool: 'gpu-pool' } } };
      await succeeded(cp().request(node(name), 'POST', '/api/v1/nodes', { body }));
    }
    await cp().kubectl(['annotate', 'node', 'gpu-2', `${RELEASE}=dedicated=gpu:NoSchedule`]);
    await createTaintPolicy(cp(), 'gpu-pool', { mode: 'Audit', taints: [{ ...GPU, ensure: 'Always' }] });
  });
  afterAll(async () => {
    await installation?.stop();
    workspace?.remove();
  });

  const inShell = (command: string) =>
    runInShell(cp(), command, { folder: workspace.path('.'), taintkeeperAs: taintkeeperAccount });

  /**
   * Runs the one command of the page that begins so.
   * @param values of its words in capitals
   * @param codes its exit codes that are as they should be
   */
  async function run(start: string, values: Readonly<Record<string, string>> = {}, codes: readonly number[] = [0]) {
    const [command = '', ...others] = COMMANDS.includes(start)
      ? [start]
      : COMMANDS.filter((one) => one.startsWith(start));
    expect({ start, command, others }).toEqual({ start, command: expect.stringContaining(start), others: [] });
    done.add(command);
    const filled = fill(command, values);
    const result = await inShell(filled);
    expect(codes, `${filled}\n${result.stderr}`).toContain(result.code);
    return result;
  }

  /**
   * Runs the first block of a section twice, as a user does who is not sure of the first run.
   * @param file what the first run saves: the second run must keep it
   */
  async function runTwice(heading: string, values: Readonly<Record<string, string>>, file: string): Promise<void> {
    const lines = guideLines('on-call.md', heading);
    for (const line of lines) await run(line, values);
    const first = saved(file);
    expect(first).not.toBe('');
    // A command that saves ends with 1 if there is nothing to save any more.
    for (const line of lines) await run(line, values, [0, 1]);
    expect(saved(file), 'a second run keeps the copy').toBe(first);
  }

  /**
   * Keeps a copy of the binding that denies a request, and deletes it.
   * @returns its name, once the request passes
   */
  async function deleteBindingOf(request: () => Promise<Attempt>): Promise<string> {
    const { error } = await request();
    const [, binding = ''] = /with binding '([^']+)' denied request/.exec(error) ?? [];
    expect(binding, error).not.toBe('');
    await runTwice('Delete a binding', { BINDING: binding }, `${binding}.yaml`);
    await expect.poll(async () => (await request()).passed, { timeout: TIMEOUT_MS }).toBe(true);
    return binding;
  }

  /** As the page says: the leader may write the status between the read and the write of kubectl. */
  const replace = (policy: { readonly POLICY: string }) =>
    expect
      .poll(async () => (await run('kubectl replace', policy, [0, 1])).stderr, { timeout: TIMEOUT_MS })
      .not.toContain('the object has been modified');

  const saved = (file: string) => readFileSync(workspace.path(file), 'utf8');
  const deployment = async () => (await cp().request<Deployment>(admin, 'GET', DEPLOYMENT)).body;
  const create = (url: string, body: object) => succeeded(cp().request(admin, 'POST', url, { body }));
  /** Without it, a namespace has no pods, and no controller creates it here. */
  const createAccount = (namespace: string) =>
    create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  const createPod = (namespace: string, name: string, spec: object = {}) =>
    create(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name },
      spec: { containers: [{ name: 'main', image: 'example.com/main' }], ...spec },
    });

  it('names the cluster', async () => {
    expect((await run('kubectl config current-context')).stdout).not.toBe('');
  });

  it('the namespace of an installation is shown', async () => {
    expect((await run('kubectl get deployments --all-namespaces')).stdout).toMatch(/^taintkeeper +taintkeeper /m);
  });

  it('a node lost its taint: keeps pods off, saves why, sets the taint, and shows the pods', async () => {
    await create('/api/v1/namespaces', { metadata: { name: 'apps' } });
    await createAccount('apps');
    const tolerations: Record<string, object[]> = {
      web: [{ key: 'other', operator: 'Exists' }],
      everything: [{ operator: 'Exists', effect: 'NoSchedule' }],
      trainer: [{ key: GPU.key, operator: 'Exists' }],
    };
    for (const [name, list] of Object.entries(tolerations)) {
      await createPod('apps', name, { nodeName: 'gpu-1', tolerations: list });
    }

    const listed = 'kubectl get node NODE -o custom-columns';
    expect((await run(listed, { NODE: 'gpu-1' })).stdout).toMatch(/^gpu-1 +<none> +<none> +\S/m);
    await run('kubectl cordon', { NODE: 'gpu-1 gpu-2' });
    for (const name of ['gpu-1', 'gpu-2']) expect((await getNode(cp(), name)).spec.unschedulable).toBe(true);
    const { stdout } = await run('taintkeeper explain node NODE |', { NODE: 'gpu-1' });
    expect(stdout).toContain('mode Audit does not set it');
    expect(saved('explain.txt')).toContain('mode Audit does not set it');
    await run('kubectl get node NODE --show-managed-fields', { NODE: 'gpu-1' });
    expect(saved('node.yaml')).toContain('managedFields:');
    await waitForEvent(cp(), 'gpu-1', 'TaintMissing');
    await run('kubectl -n default events --for node/NODE >', { NODE: 'gpu-1' });
    const files = ['node.yaml', 'explain.txt', 'events.txt'];
    const first = files.map(saved);
    expect(first[2]).toContain('TaintMissing');
    await run('kubectl taint node NODE KEY=VALUE', {
      NODE: 'gpu-1',
      'KEY=VALUE': `${GPU.key}=${GPU.value}`,
      EFFECT: GPU.effect,
    });
    expect(await taintsOf(cp(), 'gpu-1')).toEqual(['dedicated=gpu:NoSchedule']);
    const again = guideLines('on-call.md', 'A node lost its taint', 1);
    for (const line of again) await run(line, { NODE: 'gpu-1' });
    for (const [index, file] of files.entries())
      expect(saved(file).startsWith(first[index] ?? ''), `a second run keeps ${file}`).toBe(true);
    const pool = await run(listed, { NODE: '-l pool=gpu-pool' });
    expect(pool.stdout).toMatch(/^NAME +CORDONED +KEPT-OFF +TAINTS$/m);
    expect(pool.stdout).toMatch(/^gpu-1 +true +<none> +.*map\[effect:NoSchedule key:dedicated value:gpu\]/m);
    expect(pool.stdout).toMatch(/^gpu-2 +true +dedicated=gpu:NoSchedule +(?!.*dedicated)/m);
    await run('kubectl uncordon', { NODE: 'gpu-1 gpu-2' });
    for (const name of ['gpu-1', 'gpu-2']) expect((await getNode(cp(), name)).spec.unschedulable).toBeUndefined();
    const declared = await run('kubectl get taintpolicies -o custom-columns');
    expect(declared.stdout).toMatch(/^gpu-pool +dedicated +gpu +NoSchedule$/m);
    const pods = await run('kubectl get pods --all-namespaces --field-selector spec.nodeName=NODE -o go-template', {
      ...{ NODE: 'gpu-1', KEY: GPU.key },
    });
    expect(pods.stdout.trim().split('\n')).toEqual([
      'apps everything map[effect:NoSchedule operator:Exists]',
      'apps trainer map[key:dedicated operator:Exists]',
      'apps web',
    ]);
  });

  it('pods stay Pending: the taint is removed', async () => {
    await createPod('apps', 'waiting');
    expect((await run('kubectl -n NAMESPACE describe pod', { NAMESPACE: 'apps', POD: 'waiting' })).stdout).toContain(
      'Pending',
    );
    const body = {
      metadata: { name: 'plain' },
      spec: { taints: [{ key: 'example.com/starting', effect: 'NoSchedule' }] },
    };
    await create('/api/v1/nodes', body);
    await run('kubectl -n NAMESPACE get pod POD', { NAMESPACE: 'apps', POD: 'waiting' });
    await run('kubectl -n NAMESPACE delete pod POD', { NAMESPACE: 'apps', POD: 'waiting' });
    const nodes = await run('kubectl get nodes -o custom-columns');
    expect(nodes.stdout).toMatch(/^plain +\S*example\.com\/starting/m);
    await run('kubectl taint node NODE KEY-', { NODE: 'plain', KEY: 'example.com/starting' });
    expect(await taintsOf(cp(), 'plain')).toEqual([]);
    expect((await run('taintkeeper explain node NODE', { NODE: 'plain' })).stdout).toContain(
      'node.kubernetes.io/not-ready',
    );
  });

  describe('a new node stays NotReady', () => {
    const at = { NAMESPACE: FLANNEL.namespace, DAEMONSET: FLANNEL.name };
    const tolerationsOf = async (name: string) =>
      (await getDaemonSet(cp(), FLANNEL.namespace, name)).spec.template.spec.tolerations;

    beforeAll(async () => {
      await create('/api/v1/namespaces', { metadata: { name: FLANNEL.namespace } });
      await createAccount(FLANNEL.namespace);
      await createPod(FLANNEL.namespace, 'pending');
      await createDaemonSet(
        cp(),
        daemonSetManifest(
          FLANNEL.namespace,
          FLANNEL.name,
          { tolerations: OWN_TOLERATIONS },
          { 'taintkeeper.dev/ignore': 'true' },
        ),
      );
      await createDaemonSet(
        cp(),
        daemonSetManifest(FLANNEL.namespace, 'bare', {}, { 'taintkeeper.dev/ignore': 'true' }),
      );
    });

    it('the commands show what keeps the pod off', async () => {
      expect((await run('kubectl get daemonsets --all-namespaces')).stdout).toMatch(/^kube-flannel +kube-flannel-ds /m);
      const pods = await run('kubectl -n NAMESPACE get pods -o wide', { ...at, NODE: 'gpu-1' });
      expect(pods.stdout).toMatch(/^pending +0\/1 +Pending /);
      await cp().request(admin, 'PATCH', path('gpu-1'), {
        body: { spec: { taints: [GPU] } },
        contentType: MERGE_PATCH,
      });
      expect((await run('kubectl get node NODE -o jsonpath', { NODE: 'gpu-1' })).stdout).toBe(
        '[{"effect":"NoSchedule","key":"dedicated","value":"gpu"}]\n',
      );
      const { stdout } = await run('kubectl -n NAMESPACE describe daemonset', at);
      for (const { key, effect } of OWN_TOLERATIONS) expect(stdout).toContain(`${key}:${effect} op=Exists`);
      expect((await run(OWNERS, at)).stdout).toBe('\n');
      // It ends with 1 because the toleration is missing.
      expect((await run('taintkeeper explain daemonset', at, [1])).stdout).toContain(`${GPU.key}=${GPU.value}`);
    });

    it('the toleration is added, and no pod of another node is replaced before the strategy is restored', async () => {
      const strategy = async () =>
        (
          await cp().request<{ spec: { updateStrategy: object } }>(
            admin,
            'GET',
            daemonSetPath(FLANNEL.namespace, FLANNEL.name),
          )
        ).body.spec.updateStrategy;
      const declared = await strategy();
      const values = { ...at, KEY: GPU.key, EFFECT: GPU.effect };
      await runTwice('Add the toleration', values, `${FLANNEL.name}.yaml`);
      expect(saved(`${FLANNEL.name}.yaml`)).toMatch(/^ {2}updateStrategy:\n(?: {4}.*\n)* {4}type: RollingUpdate$/m);
      expect(await strategy()).toEqual({ type: 'OnDelete' });
      // The second run adds it once more, which changes nothing.
      const tolerations = [...OWN_TOLERATIONS, GPU_TOLERATION, GPU_TOLERATION];
      expect(await tolerationsOf(FLANNEL.name)).toEqual(tolerations);
      await run('kubectl -n NAMESPACE patch daemonset DAEMONSET --type merge', at);
      expect(await strategy()).toEqual(declared);
      expect(await tolerationsOf(FLANNEL.name)).toEqual(tolerations);
    });

    it('without tolerations, the same command is refused, and the one with the list makes it', async () => {
      const [patch = ''] = COMMANDS.filter((one) => one.includes('tolerations/-'));
      const filled = fill(patch, { ...at, DAEMONSET: 'bare', KEY: GPU.key, EFFECT: GPU.effect });
      expect((await inShell(filled)).stderr).toMatch(/invalid/);
      const list = filled.replace(/tolerations\/-","value":(\{.*?\})/, 'tolerations","value":[$1]');
      expect(await inShell(list)).toMatchObject({ code: 0 });
      expect(await tolerationsOf('bare')).toEqual([GPU_TOLERATION]);
    });

    it("an operator's DaemonSet has an owner, and the command prints what to patch instead", async () => {
      const calico = { NAMESPACE: 'calico-system', DAEMONSET: 'calico-node' };
      const owner = { apiVersion: 'operator.tigera.io/v1', kind: 'Installation', name: 'default', uid: 'u' };
      const manifest = daemonSetManifest(calico.NAMESPACE, calico.DAEMONSET);
      await create('/api/v1/namespaces', { metadata: { name: calico.NAMESPACE } });
      await create(daemonSetPath(calico.NAMESPACE), {
        ...manifest,
        metadata: { ...manifest.metadata, ownerReferences: [{ ...owner, controller: true }] },
      });
      expect((await run(OWNERS, calico)).stdout).toBe('Installation\n');
      const { stdout } = await run('taintkeeper coverage fix', { ...calico, KEY: GPU.key });
      expect(stdout).toMatch(/^kubectl patch installation\.operator\.tigera\.io default .*"key":"dedicated"/m);
    });

    it('the node is Ready in the end', async () => {
      const conditions = [{ type: 'Ready', status: 'True', reason: 'Test' }];
      await succeeded(
        cp().request(admin, 'PATCH', `${path('gpu-1')}/status`, {
          body: { status: { conditions } },
          contentType: MERGE_PATCH,
        }),
      );
      expect((await run('kubectl wait', { NODE: 'gpu-1' })).stdout).toBe('node/gpu-1 condition met\n');
    });

    it('a TolerationRestriction only reports, and the DaemonSet is tried again', async () => {
      const restriction = policyObject('TolerationRestriction', 'gpu-users', { mode: 'Deny', taints: [GPU] });
      expect(await createPolicy(cp(), restriction)).toMatchObject({ status: 201 });
      const url = `${POLICIES_PATH.TolerationRestriction}/gpu-users`;
      for (const mode of ['Audit', 'Deny']) {
        await run(`kubectl patch tolerationrestriction POLICY --type merge -p '{"spec":{"mode":"${mode}"}}'`, {
          POLICY: 'gpu-users',
        });
        expect((await cp().request(admin, 'GET', url)).body).toMatchObject({ spec: { mode } });
      }
      const generation = async () => (await getDaemonSet(cp(), FLANNEL.namespace, FLANNEL.name)).metadata.generation;
      const before = await generation();
      await run(RETRY, at);
      expect(await generation(), 'there is no rollout').toBe(before);
    });
  });

  it('daemon pods stay Failed: those of one DaemonSet are deleted', async () => {
    const at = { NAMESPACE: FLANNEL.namespace, DAEMONSET: 'network', SELECTOR: 'app=network' };
    const createFailed = async (name: string, app: string, phase: string) => {
      await create(`/api/v1/namespaces/${at.NAMESPACE}/pods`, {
        metadata: { name, labels: { app } },
        spec: { nodeName: 'gpu-1', containers: [{ name: 'main', image: 'example.com/main' }] },
      });
      const url = `/api/v1/namespaces/${at.NAMESPACE}/pods/${name}/status`;
      const body = { status: { phase, reason: phase === 'Failed' ? 'NodeShutdown' : undefined } };
      await succeeded(cp().request(admin, 'PATCH', url, { body, contentType: MERGE_PATCH }));
    };
    await createFailed('network-1', 'network', 'Failed');
    await createFailed('network-2', 'network', 'Running');
    await createFailed('other-1', 'other', 'Failed');
    await createDaemonSet(
      cp(),
      daemonSetManifest(at.NAMESPACE, at.DAEMONSET, {}, { 'taintkeeper.dev/ignore': 'true' }),
    );
    const failed = await run('kubectl get pods --all-namespaces --field-selector status.phase=Failed');
    expect(failed.stdout).toMatch(/^kube-flannel +network-1 +0\/1 +NodeShutdown /m);
    expect((await run('kubectl get daemonsets --all-namespaces -o wide')).stdout).toMatch(
      /^kube-flannel +network .* app=network$/m,
    );
    // There is no kubelet that ends them.
    expect((await run('kubectl -n NAMESPACE delete pods', at)).stdout).toMatch(/^pod "network-1" deleted\b.*\n$/);
    const status = {
      ...{ observedGeneration: 1, currentNumberScheduled: 1, desiredNumberScheduled: 1, numberMisscheduled: 0 },
      ...{ numberReady: 1, updatedNumberScheduled: 1, numberAvailable: 1 },
    };
    const url = `${daemonSetPath(at.NAMESPACE, at.DAEMONSET)}/status`;
    await succeeded(cp().request(admin, 'PATCH', url, { body: { status }, contentType: MERGE_PATCH }));
    expect((await run('kubectl -n NAMESPACE rollout status daemonset', at)).stdout).toContain(
      'successfully rolled out',
    );
  });

  describe('the webhook does not answer', () => {
    /** What the Deployment's controller and kubelets report when all is done. */
    async function reportRollout(): Promise<void> {
      const { metadata } = (await deployment()) as { metadata: { generation?: number } };
      const status = {
        observedGeneration: metadata.generation,
        replicas: 2,
        updatedReplicas: 2,
        readyReplicas: 2,
        availableReplicas: 2,
      };
      await succeeded(
        cp().request(admin, 'PATCH', `${DEPLOYMENT}/status`, { body: { status }, contentType: MERGE_PATCH }),
      );
    }

    it('no replica: a TolerationRestriction in mode Audit still refuses pods, until its binding is deleted', async () => {
      const pod = {
        metadata: { name: 'tolerating' },
        spec: { tolerations: [GPU_TOLERATION], containers: [{ name: 'main', image: 'example.com/main' }] },
      };
      const rehearse = () => attempt(cp(), developer, 'POST', '/api/v1/namespaces/restricted/pods?dryRun=All', pod);
      // Namespaces of network plugins are excepted, and an administrator may tolerate every key.
      await create('/api/v1/namespaces', { metadata: { name: 'restricted' } });
      await createAccount('restricted');
      await permitPods(cp(), [developer]);
      await expect.poll(async () => (await rehearse()).passed, { timeout: TIMEOUT_MS }).toBe(false);
      await installation.kill();
      const policy = { POLICY: 'gpu-users' };
      await run(`kubectl patch tolerationrestriction POLICY --type merge -p '{"spec":{"mode":"Audit"}}'`, policy);
      const binding = await deleteBindingOf(rehearse);
      expect(binding).toContain('gpu-users');
      await installation.start(['after-binding']);
      await cp().kubectl(['wait', '--for=create', `validatingadmissionpolicybinding/${binding}`, '--timeout=60s']);
    });

    it('x509: new replicas, and webhooks that are registered anew, protect', async () => {
      await installation.kill();
      const { 'ca.crt': caBundle } = await certificateData();
      for (const kind of ['mutating', 'validating'] as const) {
        const { webhooks } = (
          await cp().request<{ webhooks: { clientConfig: object }[] }>(admin, 'GET', configurationPath(kind))
        ).body;

        const body = { webhooks: webhooks.map((one) => ({ ...one, clientConfig: { ...one.clientConfig, caBundle } })) };
        await succeeded(cp().request(admin, 'PATCH', configurationPath(kind), { body, contentType: MERGE_PATCH }));
      }
      await run('kubectl -n taintkeeper rollout restart');
      expect((await deployment()).spec.template.metadata).toHaveProperty([
        'annotations',
        'kubectl.kubernetes.io/restartedAt',
      ]);
      await reportRollout();
      expect((await run('kubectl -n taintkeeper rollout status')).stdout).toContain('successfully rolled out');
      await installation.start(['c', 'd']);
      await waitUntilProtected(cp(), 'cp-1');

      await run('kubectl delete --ignore-not-found mutatingwebhookconfiguration');
      await waitUntilProtected(cp(), 'cp-1');
      const { stdout } = await run('kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations');
      expect(stdout.match(/^\w+\.admissionregistration\.k8s\.io\/taintkeeper /gm)).toHaveLength(2);
      const repeated = ['taint', 'node', 'cp-1', `${CONTROL_PLANE_KEY}-`, '--dry-run=server'];
      expect((await kubectl(cp(), developer, repeated)).error).toContain('denied the request');
    });

    it('no replica: it is scaled, and the Events say why pods are missing', async () => {
      await run('kubectl -n taintkeeper scale deployment taintkeeper --replicas=0');
      expect((await deployment()).spec.replicas).toBe(0);
      await run('kubectl -n taintkeeper scale deployment taintkeeper --replicas=2');
      expect((await deployment()).spec.replicas).toBe(2);
      await run('kubectl -n taintkeeper events');
    });
  });

  describe('a change is refused', () => {
    const remove = () => kubectl(cp(), developer, ['taint', 'node', 'cp-1', `${CONTROL_PLANE_KEY}-`]);

    it('in mode Audit it passes, and the saved policy refuses it again', async () => {
      expect((await remove()).error).toContain('TaintPolicy "control-plane-taints"');
      const policy = { POLICY: 'control-plane-taints' };
      await runTwice('Set a policy to mode Audit', policy, `${policy.POLICY}.yaml`);
      await expect.poll(async () => (await removeTaints(cp(), 'cp-1')).passed, { timeout: TIMEOUT_MS }).toBe(true);
      await replace(policy);
      await waitUntilProtected(cp(), 'cp-1');
      expect((await run('kubectl get taintpolicy POLICY', policy)).stdout).toMatch(/^NAME +MODE +EFFECTIVE /);
    });

    it('a controller is exempt, beside the users that are', async () => {
      await remove();
      await waitForEvent(cp(), 'cp-1', 'TaintRemovalDenied');
      const events = await run("kubectl -n default events --for node/NODE | grep '(user '", { NODE: 'cp-1' });
      expect(events.stdout).toContain(`(user ${developer.name})`);
      const policy = { POLICY: 'control-plane-taints', USER: developer.name };
      const users = "kubectl get taintpolicy POLICY -o jsonpath='{.spec.exempt.";
      expect((await run(users, policy)).stdout).toBe('\n');
      const put = `kubectl patch taintpolicy POLICY --type merge -p '{"spec":{"exempt"`;
      await run(put, { ...policy, USER: 'first' });
      await run('kubectl patch taintpolicy POLICY --type json', policy);
      expect((await run(users, policy)).stdout).toBe(`["first","${developer.name}"]\n`);
      const rehearse = async () =>
        (await kubectl(cp(), developer, ['taint', 'node', 'cp-1', `${CONTROL_PLANE_KEY}-`, '--dry-run=server'])).passed;
      await expect.poll(rehearse, { timeout: TIMEOUT_MS }).toBe(true);
      await replace(policy);
      await expect.poll(rehearse, { timeout: TIMEOUT_MS }).toBe(false);
    });

    const entriesOf = async () => (await getNode(cp(), 'cp-1')).metadata.annotations?.[RELEASE];
    const inFolder = async (command: string) => {
      const result = await inShell(command);
      expect(result, command).toMatchObject({ code: 0 });
      return result.stdout;
    };
    const OTHER_ENTRY = 'dedicated=gpu:NoSchedule';
    const ENTRY = `${CONTROL_PLANE_KEY}:NoSchedule`;

    it('by the command at the end of the message, which keeps the entries of the node', async () => {
      await inFolder(`kubectl annotate node cp-1 ${RELEASE}=${OTHER_ENTRY}`);
      const [command] = /kubectl annotate .*$/m.exec((await remove()).error) ?? [];
      await inFolder(command ?? '');
      expect(await remove()).toMatchObject({ passed: true });
      expect(await entriesOf()).toBe(`${OTHER_ENTRY},${ENTRY}`);
    });

    it('by the commands of docs/operating.md, with the entry that the first one prints', async () => {
      // The API server learns a moment later that the policy is in mode Deny again. Until then, it does not call the webhook that ends the entry.
      const setAgain = async () => {
        await remove();
        await inFolder(`kubectl taint node cp-1 ${ENTRY}`);
        return await entriesOf();
      };
      await expect.poll(setAgain, { timeout: TIMEOUT_MS }).toBe(OTHER_ENTRY);
      const [print = '', annotate = '', taint = ''] = guideLines('operating.md', 'Removing a protected taint');
      expect(await inFolder(fill(print, { NODE: 'cp-1' }))).toBe(`${OTHER_ENTRY}\n`);
      const filled = (command: string) => fill(command, { NODE: 'cp-1', 'KEY=VALUE:EFFECT': ENTRY });
      await inFolder(filled(annotate).replace('removal=', `removal=${OTHER_ENTRY},`));
      await inFolder(filled(taint));
      expect(await taintsOf(cp(), 'cp-1')).not.toContain(ENTRY);
      expect(await entriesOf()).toBe(`${OTHER_ENTRY},${ENTRY}`);
    });

    it('a disruption budget is shown', async () => {
      expect((await run('kubectl get poddisruptionbudgets')).stdout).toContain('taintkeeper');
    });
  });

  it('locked out: a native policy has no effect without its binding', async () => {
    let writes = 0;
    /** Each writes another value. */
    const write = () =>
      attempt(
        cp(),
        node('gpu-1'),
        'PATCH',
        `${path('gpu-1')}/status`,
        { metadata: { annotations: { [RELEASE]: `x-${++writes}:NoSchedule` } } },
        MERGE_PATCH,
      );
    const binding = await deleteBindingOf(write);
    expect(await inShell(`kubectl apply -f ${binding}.yaml`)).toMatchObject({ code: 0 });
    await expect.poll(async () => (await write()).passed, { timeout: TIMEOUT_MS }).toBe(false);
  });

  it('the leader is stopped', async () => {
    await run('kubectl -n taintkeeper patch deployment');
    expect((await deployment()).spec.template.spec.containers[0]?.args.at(-1)).toBe('--audit');
  });

  it.each([
    {
      ...{ group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', word: 'APPLICATION' },
      ...{ spec: { syncPolicy: { automated: { prune: true } } }, suspended: { syncPolicy: {} } },
      applied: { annotations: { 'argocd.argoproj.io/tracking-id': 'platform:/Namespace:default/applied' } },
    },
    {
      ...{ group: 'kustomize.toolkit.fluxcd.io', version: 'v1', kind: 'Kustomization', word: 'KUSTOMIZATION' },
      ...{ spec: {}, suspended: { suspend: true } },
      applied: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'platform' } },
    },
    {
      ...{ group: 'helm.toolkit.fluxcd.io', version: 'v2', kind: 'HelmRelease', word: 'HELMRELEASE' },
      ...{ spec: {}, suspended: { suspend: true } },
      applied: { labels: { 'helm.toolkit.fluxcd.io/name': 'platform' } },
    },
  ])('$group: an object of version $version, a $kind, is found and suspended', async (tool) => {
    const { group, version, kind, word, spec, suspended, applied } = tool;
    const name = `by-${kind.toLowerCase()}`;
    await create('/api/v1/namespaces/default/configmaps', { metadata: { name, ...applied } });
    const [found = ''] = Object.keys(applied.labels ?? applied.annotations);
    const show = 'kubectl -n NAMESPACE get KIND NAME';
    expect((await run(show, { NAMESPACE: 'default', KIND: 'configmap', NAME: name })).stdout).toContain(
      `${found}: platform`,
    );

    const plural = `${kind.toLowerCase()}s`;
    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(group, version, kind, plural));
    await cp().kubectl(['wait', '--for=condition=Established', `crd/${plural}.${group}`]);
    const url = `/apis/${group}/${version}/namespaces/default/${plural}`;
    const managers = async () =>
      (await cp().request<{ metadata: { managedFields: { manager: string }[] } }>(admin, 'GET', `${url}/platform`)).body
        .metadata.managedFields;
    const made = { apiVersion: `${group}/${version}`, kind, metadata: { name: 'platform' }, spec };
    await create(url, made);
    await run(`kubectl -n NAMESPACE patch ${kind.toLowerCase()}`, { NAMESPACE: 'default', [word]: 'platform' });
    expect((await cp().request<{ spec: object }>(admin, 'GET', `${url}/platform`)).body.spec).toEqual(suspended);
    // Flux takes the fields of every manager whose name begins so, and then removes those that Git does not have.
    const undone = (await managers()).filter(({ manager }) => manager.startsWith('kubectl'));
    expect(undone).toEqual([]);
  });

  it('the Applications are listed with their namespaces', async () => {
    expect((await run('kubectl get applications.argoproj.io')).stdout).toMatch(/^default +platform /m);
  });

  it('an upgrade hangs: the pods are shown', async () => {
    await createPod(NAMESPACE, 'replica', {
      ...{
        serviceAccountName: 'taintkeeper',
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      },
      containers: [
        {
          ...{ name: 'main', image: 'example.com/main' },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    });
    expect((await run('kubectl -n taintkeeper get pods')).stdout).toMatch(/^replica +0\/1 +Pending /m);
    expect((await run('kubectl -n taintkeeper describe pod', { POD: 'replica' })).stdout).toContain('Pending');
  });

  it("Talos removes the role's taint: kubectl does not overwrite the other entries of a node", async () => {
    const allow = 'kubectl annotate node NODE';
    await run(allow, { NODE: 'plain' });
    expect(await inShell(`kubectl annotate --overwrite node plain ${RELEASE}=x:NoSchedule`)).toMatchObject({ code: 0 });
    expect((await run(allow, { NODE: 'plain' }, [1])).stderr).toContain('--overwrite is false');
    expect(await inShell(`kubectl annotate node plain ${RELEASE}-`)).toMatchObject({ code: 0 });
    expect(await inShell('kubectl taint node plain example.com/a:NoSchedule')).toMatchObject({ code: 0 });
    const taint = { NODE: 'plain', KEY: 'example.com/a', EFFECT: 'NoSchedule' };
    await run('kubectl taint nodes NODE KEY=VALUE:EFFECT --overwrite', { ...taint, VALUE: 'b' });
    await run('kubectl taint node NODE KEY:EFFECT-', taint);
    expect(await taintsOf(cp(), 'plain')).not.toContain('example.com/a:NoSchedule');
  });

  it('afterwards: the policies are shown with the columns of the page, and the doctor runs', async () => {
    const { stdout } = await run('kubectl get taintpolicies');
    expect(stdout).toMatch(/^NAME .*EFFECTIVE .*MISSING .*READY/);
    // On a busy machine a replica may not answer for three seconds, which is a problem (1).
    await expect.poll(async () => (await run('taintkeeper doctor', {}, [0, 1])).code).toBe(0);
  });

  describe('troubleshooting', () => {
    it('the doctor has a pod of its own, which the API server admits', async () => {
      await run('kubectl -n default create serviceaccount');
      await run('kubectl create clusterrolebinding');
      const start = 'kubectl -n default run ';
      const [command = ''] = COMMANDS.filter((one) => one.startsWith(start));
      // No kubelet runs the pod.
      const { code, stdout, stderr } = await inShell(
        command.replace('--rm --attach --quiet', '--dry-run=server -o yaml'),
      );
      expect(code, stderr).toBe(0);
      expect(stdout).toContain('serviceAccountName: taintkeeper-doctor');
      done.add(command);
      await run('kubectl delete clusterrolebinding');
      await run('kubectl -n default delete --ignore-not-found');
    });

    it('the leader may register webhooks', async () => {
      expect((await run('for kind in')).stdout).toBe('yes\n'.repeat(4));
    });

    it('certificates are shown, and replaced', async () => {
      await run('taintkeeper certs status');
      await run('taintkeeper certs rotate --namespace');
      await run('taintkeeper certs rotate --ca');
    });

    it("another product's webhook lets requests pass while it does not answer", async () => {
      const url = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
      const rules = [{ apiGroups: ['x.example.com'], apiVersions: ['v1'], resources: ['*'], operations: ['CREATE'] }];
      const webhook = (name: string) => ({
        ...{ name, rules, failurePolicy: 'Fail', sideEffects: 'None', admissionReviewVersions: ['v1'] },
        clientConfig: { url: 'https://127.0.0.1:1/' },
      });
      await create(url, { metadata: { name: 'other' }, webhooks: ['a.example.com', 'b.example.com'].map(webhook) });
      expect((await run('kubectl get validatingwebhookconfigurations')).stdout).toContain(
        'ValidatingWebhookConfiguration\tother\ta.example.com b.example.com\n',
      );
      await run('kubectl patch KIND', { KIND: 'validatingwebhookconfiguration', NAME: 'other', N: '1' });
      const { webhooks } = (await cp().request<{ webhooks: object[] }>(admin, 'GET', `${url}/other`)).body;
      expect(webhooks).toMatchObject([{ failurePolicy: 'Fail' }, { failurePolicy: 'Ignore' }]);
    });

    it('a node joins as a dry run', async () => {
      expect((await run('echo ', { NODE: 'new-1' })).stdout).toBe('node/new-1 created (server dry run)\n');
    });

    it('a node is marked as one of the control plane', async () => {
      await run('kubectl label --overwrite node', { NODE: 'plain' });
      await run('kubectl taint --overwrite node', { NODE: 'plain' });
      expect((await getNode(cp(), 'plain')).metadata.labels).toMatchObject({ [CONTROL_PLANE_KEY]: '' });
      expect(await taintsOf(cp(), 'plain')).toEqual([`${CONTROL_PLANE_KEY}:NoSchedule`]);
    });

    it('the Events of a node are shown', async () => {
      await run('kubectl -n default events --for node/NODE', { NODE: 'gpu-1' });
    });

    it.each([
      [
        'TolerationPolicy',
        { mode: 'Mutate', existing: 'Patch', daemonSets: DAEMON_SETS, tolerations: [GPU_TOLERATION] },
        { existing: 'Report' },
      ],
      ['RecoveryPolicy', { mode: 'Recover', daemonSets: DAEMON_SETS }, { mode: 'Audit' }],
    ] as const)('one %s is stopped', async (kind, spec, stopped) => {
      expect(await createPolicy(cp(), policyObject(kind, 'stopped', spec))).toMatchObject({ status: 201 });
      await run(`kubectl patch ${kind.toLowerCase()}`, { POLICY: 'stopped' });
      const { body } = await cp().request(admin, 'GET', `${POLICIES_PATH[kind]}/stopped`);
      expect(body).toMatchObject({ spec: { ...spec, ...stopped } });
    });
  });

  it.each(RUNBOOKS)('$path: its commands run', async ({ commands }) => {
    const values = { NODE: 'gpu-1', POLICY: 'control-plane-taints' };
    for (const command of commands) {
      const filled = fill(command, { ...values, NAMESPACE: FLANNEL.namespace, DAEMONSET: FLANNEL.name });
      // Without a line that matches.
      const found = command.includes('| grep') ? [0, 1] : [0];
      const { code, stderr } = await inShell(filled);
      expect(found, `${filled}\n${stderr}`).toContain(code);
      expect(stderr, filled).not.toMatch(/^(error:|Error from server)/im);
    }
  });

  it('no command is left out', () => {
    const others = [...Object.keys(ELSEWHERE), ...NOT_RUN];
    const left = COMMANDS.filter((command) => !done.has(command));
    expect(left.filter((command) => !others.some((start) => command.startsWith(start)))).toEqual([]);
    for (const file of new Set(Object.values(ELSEWHERE)))
      expect(readFileSync(join(import.meta.dirname, file), 'utf8')).toMatch(
        /(?:on-call|troubleshooting|upgrading|talos)\.md/,
      );
  });
});
