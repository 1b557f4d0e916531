import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CHART, IMAGE, INSTALL, NAMESPACE, RIGHTS, renderChart } from '../../scripts/chart.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { obstacleToHelm, runHelm } from '../control-plane/helm.ts';
import { admin, developer, node, serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { guideCommands, guideLines } from './guide-commands.ts';
import {
  AS_IN_A_CLUSTER,
  install as installWithReplicas,
  readConfigurations,
  registerControlPlaneNode,
  removeTaints,
  runInstalled,
  waitUntilProtected,
} from './installation.ts';
import { MUTATING_VERSION } from './native-rig.ts';
import { attempt, GPU, getNode, type Node, OTHER, path, RELEASE } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy } from './policy-resources.ts';
import { runAs } from './run-taintkeeper.ts';
import { permitPods } from './who-may.ts';

const OWNER = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATIONS = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];
/** The namespace controller tries again after 5, 10 and 20 s when it meets definitions that are just being deleted. */
const GONE_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 150_000;

const OWN_LABEL = 'app.kubernetes.io/name=taintkeeper';
const NATIVE_KINDS = MUTATING_VERSION === 'none' ? ['validating'] : ['mutating', 'validating'];
const NATIVE_BINDINGS = NATIVE_KINDS.map((kind) => `${kind}admissionpolicybinding`).join();
const NATIVE_POLICIES = NATIVE_KINDS.map((kind) => `${kind}admissionpolicy`).join();

const image = ['--set', `image.repository=${IMAGE}`];

const collection = (kind: string) => `${ADMISSION}/${kind.toLowerCase()}s`;

/**
 * A leader as stubborn as can be: what it registered and finds gone, it registers again at once, with its own rights, and in
 * the name of the owner that it last saw.
 */
async function startStubbornLeader(cp: ControlPlane) {
  const user = serviceAccount(NAMESPACE, 'taintkeeper');
  const stopped = new AbortController();
  let uid = '';
  const register = async (kind: string) => {
    const owner = await cp.request<{ metadata?: { uid?: string } }>(user, 'GET', OWNER);
    uid = owner.body.metadata?.uid ?? uid;
    await cp.request(user, 'POST', collection(kind), {
      body: {
        metadata: {
          name: 'taintkeeper',
          ownerReferences: [
            { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'taintkeeper', uid },
          ],
        },
        webhooks: [
          {
            name: 'protect.taintkeeper.dev',
            // Nobody listens there: a registered webhook is one that is in the way.
            clientConfig: { url: 'https://127.0.0.1:1/' },
            rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] }],
            failurePolicy: 'Fail',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            timeoutSeconds: 1,
          },
        ],
      },
    });
  };
  const done = (async () => {
    while (!stopped.signal.aborted) {
      for (const kind of CONFIGURATIONS) await register(kind);
      await delay(1);
    }
  })();
  await waitUntil(async () => ((await label(cp)) === 500 ? true : undefined), {
    timeoutMs: GONE_TIMEOUT_MS,
    otherwise: () => 'the webhook is not in the way',
  });
  return async () => {
    stopped.abort();
    await done;
  };
}

/** The status of the answer to a harmless change of a node. */
async function label(cp: ControlPlane): Promise<number> {
  const answer = await cp.request(developer, 'PATCH', path('n1'), {
    body: { metadata: { labels: { changed: String(performance.now()) } } },
    contentType: MERGE_PATCH,
  });
  return answer.status;
}

const RESOURCES = ['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions', 'recoverypolicies'];

/** What of taintkeeper is there, apart from Events. */
async function leftovers(cp: ControlPlane): Promise<string[]> {
  const cluster = [
    ['get', 'namespace', NAMESPACE],
    ['get', 'mutatingwebhookconfiguration,validatingwebhookconfiguration', 'taintkeeper'],
    ['get', `clusterrole,clusterrolebinding,${NATIVE_BINDINGS},${NATIVE_POLICIES}`, '-l', OWN_LABEL],
    ['get', 'crd', ...RESOURCES.map((resource) => `${resource}.taintkeeper.dev`)],
    ['get', 'all,configmap,secret,lease,role,rolebinding,networkpolicy,pdb,sa', '-A', '-l', OWN_LABEL],
  ];
  const found = await Promise.all(cluster.map((args) => cp.kubectl([...args, '--ignore-not-found', '-o', 'name'])));
  return found.flatMap(({ code, stdout, stderr }) => {
    if (code !== 0) throw new Error(stderr);
    return stdout.trim().split('\n').filter(Boolean);
  });
}

const noneLeft = (cp: ControlPlane, expected: readonly string[] = []) =>
  expect.poll(() => leftovers(cp), { timeout: GONE_TIMEOUT_MS }).toEqual(expected);

vi.setConfig({ testTimeout: TEST_TIMEOUT_MS });

describeWithControlPlane('removing it', { components: ['kube-controller-manager'] }, (cp) => {
  let stopLeader: () => Promise<void> = async () => {};

  beforeEach(async () => {
    await cp().request(node('n1'), 'POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } });
  });
  afterEach(async () => {
    await stopLeader();
    stopLeader = async () => {};
  });

  async function kubectl(command: string): Promise<string> {
    const args = command
      .replace(/^kubectl /, '')
      .replace('manifests/install.yaml', INSTALL)
      .split(' ');
    const result = await cp().kubectl(args);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  }

  const isInTheWay = () => expect.poll(() => label(cp()), { timeout: GONE_TIMEOUT_MS }).toBe(500);
  const nodesAreFree = () => expect.poll(() => label(cp()), { timeout: GONE_TIMEOUT_MS }).toBe(200);

  async function install(): Promise<void> {
    await kubectl('kubectl apply -f manifests/install.yaml');
    await readPolicies();
    stopLeader = await startStubbornLeader(cp());
  }

  const owners = () =>
    kubectl(
      'kubectl get clusterrole taintkeeper -o jsonpath={.metadata.ownerReferences[*].kind}/{.metadata.ownerReferences[*].name}',
    );

  /** As replicas do. A definition whose objects nobody has read yet is slow to delete. */
  async function readPolicies(): Promise<void> {
    for (const resource of RESOURCES) {
      const read = () => cp().request(admin, 'GET', `/apis/taintkeeper.dev/v1alpha1/${resource}?resourceVersion=0`);
      await expect.poll(async () => (await read()).status, { timeout: GONE_TIMEOUT_MS }).toBe(200);
    }
  }

  it('locked out: one command frees the nodes, and the saved ClusterRole brings everything back', async () => {
    await install();
    const folder = temporaryDirectory();
    const inFolder = (line = '') => line.replaceAll(/\b\w+\.yaml\b/g, (file) => join(folder, file));
    const [save, free] = guideLines('on-call.md', 'Locked out');
    const [restore] = guideLines('on-call.md', 'Undo it');
    await pasteRemedy(cp(), inFolder(save));
    // The right to register goes first: until then, the leader could put back what is deleted.
    expect(await kubectl(free ?? '')).toMatch(/^clusterrole\./);
    await nodesAreFree();
    await expect(pasteRemedy(cp(), inFolder(save)), 'a second time, it saves nothing').rejects.toThrow(/NotFound/);
    await pasteRemedy(cp(), inFolder(restore));
    await isInTheWay();
  });

  /** As docs/security.md has it for an installation without Helm. */
  async function applySelfRestriction(): Promise<void> {
    const manifests = await renderChart([
      '--show-only',
      'templates/self-restriction.yaml',
      '--set',
      'selfRestriction=true',
    ]);
    expect(await cp().kubectl(['apply', '-f', '-'], { input: manifests })).toMatchObject({ code: 0 });
  }

  /** For what neither the manifest nor the namespace covers. */
  const deleteRemaining = () => kubectl(guideCommands('uninstall.md', 'Uninstall', 1)[0]?.command ?? '');

  it(
    "the guide's commands leave nothing, neither rights nor limits, though the leader does what it can",
    skipFor(obstacleToHelm()),
    async () => {
      await install();
      await kubectl(`kubectl apply -f ${RIGHTS.recoverPods} -f ${RIGHTS.nativePolicies}`);
      await applySelfRestriction();
      const [first = '', second = '', ...more] = guideCommands('uninstall.md', 'Uninstall').map(
        ({ command }) => command,
      );
      expect(more).toEqual([]);
      await kubectl(first);
      await nodesAreFree();
      await kubectl(`${second} --wait=false`);
      await deleteRemaining();
      await noneLeft(cp());
      await nodesAreFree();
    },
  );

  it('deleting the manifest alone is enough, too: the webhook configurations go with their owner', async () => {
    await install();
    await kubectl('kubectl delete -f manifests/install.yaml --wait=false');
    await noneLeft(cp());
    await nodesAreFree();
  });

  it(
    'deleting the namespace is enough: nothing is left that refuses, and one command deletes the rest',
    skipFor(obstacleToHelm()),
    async () => {
      const installation = await installWithReplicas(cp(), ['nativePolicies'], AS_IN_A_CLUSTER);
      try {
        await applySelfRestriction();
        await installation.start(['a'], { args: ['--owner-cluster-role', 'taintkeeper'] });
        await registerControlPlaneNode(cp(), 'cp-1');
        await waitUntilProtected(cp(), 'cp-1');
        await kubectl('kubectl patch taintpolicy control-plane-taints --type=merge -p {"spec":{"backstop":"Native"}}');
        const bindings = async () => {
          const names = await kubectl('kubectl get validatingadmissionpolicybinding -o name');
          return names.split('\n').filter((name) => name.endsWith('.taintkeeper.dev'));
        };
        await expect
          .poll(bindings, { timeout: GONE_TIMEOUT_MS })
          .toContainEqual(expect.stringContaining('control-plane-taints'));
        await expect.poll(owners, { timeout: GONE_TIMEOUT_MS }).toBe(`Namespace/${NAMESPACE}`);
        await kubectl('kubectl apply -f manifests/install.yaml');
        expect(await owners()).toBe(`Namespace/${NAMESPACE}`);

        await kubectl(`kubectl delete namespace ${NAMESPACE} --wait=false`);
        await installation.replica('a').kill();
        const definitions = RESOURCES.map(
          (resource) => `customresourcedefinition.apiextensions.k8s.io/${resource}.taintkeeper.dev`,
        );
        const ofNamespace = async () => {
          const found = await leftovers(cp());
          return found.some((name) => name.startsWith('namespace/') || name.includes('webhookconfiguration'));
        };
        await expect.poll(ofNamespace, { timeout: GONE_TIMEOUT_MS }).toBe(false);
        await expect.poll(bindings, { timeout: GONE_TIMEOUT_MS }).toEqual([]);
        // The API server goes by native policies for a moment after they are gone.
        await expect
          .poll(() => removeTaints(cp(), 'cp-1'), { timeout: GONE_TIMEOUT_MS })
          .toMatchObject({ passed: true, error: '' });
        await deleteRemaining();
        await noneLeft(cp(), definitions);
        // For the tests after this one.
        await kubectl('kubectl delete -f manifests/install.yaml --ignore-not-found');
        await noneLeft(cp());
      } finally {
        await installation.stop();
      }
    },
  );

  it(
    'helm uninstall ends what native policies enforce, and cleanup and the definitions leave nothing',
    skipFor(obstacleToHelm()),
    async () => {
      const kubeconfigFile = await cp().kubeconfigFile(admin);
      const helm = async (...args: string[]) =>
        expect(await runHelm(['--namespace', NAMESPACE, ...args], { kubeconfigFile })).toMatchObject({ code: 0 });
      const cleanup = () => runAs(admin, cp(), ['cleanup']);
      const bindings = () => kubectl(`kubectl get ${NATIVE_BINDINGS} -o name`);
      const natives = () => kubectl(`kubectl get ${NATIVE_POLICIES} -o name`);
      const createPod = () =>
        attempt(cp(), developer, 'POST', '/api/v1/namespaces/default/pods?dryRun=All', {
          metadata: { name: 'p' },
          spec: {
            containers: [{ name: 'c', image: 'example.com/c' }],
            tolerations: [{ key: GPU.key, operator: 'Exists' }],
          },
        });
      /**
       * The garbage collector reads new kinds every 30 s, and misses a kind that comes and goes between two reads. It ends a deletion in the foreground
       * only for kinds that it watches.
       */
      const garbageCollectorWatchesPolicies = async () => {
        for (const kind of ['TaintPolicy', 'TolerationRestriction'] as const) {
          const policy = policyObject(kind, 'watched', { mode: 'Audit', taints: [{ key: 'a', effect: 'NoSchedule' }] });
          expect(await createPolicy(cp(), policy)).toMatchObject({ status: 201 });
          await kubectl(`kubectl delete ${kind} watched --cascade=foreground --wait=false`);
          await expect
            .poll(() => kubectl(`kubectl get ${kind} watched --ignore-not-found`), { timeout: GONE_TIMEOUT_MS })
            .toBe('');
        }
      };
      /** What an admin who removes all taints would leave. */
      const taintsLeft = async () => {
        const { body } = await cp().request<Node>(admin, 'PATCH', `${path('gpu-1')}?dryRun=All`, {
          body: { spec: { taints: null } },
          contentType: MERGE_PATCH,
        });
        return body.spec.taints;
      };

      const values = 'nativePolicies=true,selfRestriction=true';
      await helm('install', 'taintkeeper', CHART, '--create-namespace', ...image, '--set', values);
      const installation = await runInstalled(cp());
      try {
        await permitPods(cp(), [developer]);
        await installation.start(['a'], { args: ['--owner-cluster-role', 'taintkeeper'] });
        const policy = policyObject('TaintPolicy', 'gpu', {
          mode: 'Restore',
          nodeSelector: { matchLabels: { pool: 'gpu' } },
          taints: [{ ...GPU, ensure: 'Always' }],
          backstop: 'Native',
        });
        const restriction = policyObject('TolerationRestriction', 'gpu', { mode: 'Deny', taints: [GPU] });
        for (const one of [policy, restriction]) {
          expect(await createPolicy(cp(), one)).toMatchObject({ status: 201 });
        }
        const body = { metadata: { name: 'gpu-1', labels: { pool: 'gpu' } }, spec: { taints: [GPU, OTHER] } };
        expect(await attempt(cp(), node('gpu-1'), 'POST', '/api/v1/nodes', body)).toMatchObject({ error: '' });
        await expect.poll(bindings, { timeout: GONE_TIMEOUT_MS }).toContain('/gpu.restore.taintkeeper.dev');
        await expect
          .poll(async () => (await createPod()).error, { timeout: GONE_TIMEOUT_MS })
          .toContain("ValidatingAdmissionPolicy 'gpu.authorize-pods.taintkeeper.dev'");
        // The leader deletes no entry that names another taint than those of the policy.
        const allowed = { metadata: { annotations: { [RELEASE]: `${OTHER.key}:${OTHER.effect}` } } };
        expect(await attempt(cp(), admin, 'PATCH', path('gpu-1'), allowed, MERGE_PATCH)).toMatchObject({ error: '' });
        await expect
          .poll(async () => (await readConfigurations(cp())).map(({ webhooks }) => webhooks?.length > 0), {
            timeout: GONE_TIMEOUT_MS,
          })
          .toEqual([true, true]);

        // Without its webhooks alone, taintkeeper is not removed. No leader is there that would register them again.
        await installation.replica('a').kill();
        await kubectl('kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration taintkeeper');
        expect(await cleanup()).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('native policies of taintkeeper are in force: gpu.'),
        });
        await expect.poll(taintsLeft, { timeout: GONE_TIMEOUT_MS }).toEqual([GPU]);

        await helm('uninstall', 'taintkeeper');
        await expect.poll(bindings, { timeout: GONE_TIMEOUT_MS }).toBe('');
        await expect.poll(createPod, { timeout: GONE_TIMEOUT_MS }).toMatchObject({ passed: true, warnings: [] });
        await expect.poll(taintsLeft, { timeout: GONE_TIMEOUT_MS }).toBe(undefined);
        expect(await cleanup()).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('nodes/gpu-1') });
        expect((await getNode(cp(), 'gpu-1')).metadata.annotations ?? {}).not.toHaveProperty([RELEASE]);
        expect((await cleanup()).stdout).toBe('nothing of taintkeeper is left on nodes and DaemonSets\n');

        // What decided is there still, and goes with the policies.
        await garbageCollectorWatchesPolicies();
        expect(await natives()).toContain('/gpu.authorize-pods.taintkeeper.dev');
        await kubectl(
          `kubectl delete crd ${RESOURCES.map((resource) => `${resource}.taintkeeper.dev`).join(' ')} --wait=false`,
        );
        await expect.poll(natives, { timeout: GONE_TIMEOUT_MS }).toBe('');
        await noneLeft(cp(), [`namespace/${NAMESPACE}`]);
      } finally {
        await installation.stop();
      }
    },
  );

  it('helm install, upgrade, uninstall, and install again', skipFor(obstacleToHelm()), async () => {
    const kubeconfigFile = await cp().kubeconfigFile(admin);
    const helm = async (...args: string[]) =>
      expect(await runHelm(['--namespace', NAMESPACE, ...args], { kubeconfigFile })).toMatchObject({ code: 0 });
    const noted = async () =>
      kubectl(
        `kubectl get configmap -n ${NAMESPACE} taintkeeper-default-policies -o jsonpath={.metadata.annotations.taintkeeper\\.dev/created}`,
      );

    await helm('install', 'taintkeeper', CHART, '--create-namespace', ...image);
    await kubectl(
      `kubectl annotate configmap -n ${NAMESPACE} taintkeeper-default-policies taintkeeper.dev/created=cni-tolerations.yaml`,
    );
    stopLeader = await startStubbornLeader(cp());
    await helm('upgrade', 'taintkeeper', CHART, '--set', 'replicas=3', ...image);
    expect(await noted()).toBe('cni-tolerations.yaml');
    await kubectl(guideLines('on-call.md', 'Locked out')[1] ?? '');
    await nodesAreFree();
    await helm('upgrade', 'taintkeeper', CHART, ...image);
    await isInTheWay();
    const definitions = RESOURCES.map(
      (resource) => `customresourcedefinition.apiextensions.k8s.io/${resource}.taintkeeper.dev`,
    );
    await helm('uninstall', 'taintkeeper');
    await noneLeft(cp(), [`namespace/${NAMESPACE}`, ...definitions]);
    await nodesAreFree();
    await stopLeader();
    await helm('install', 'taintkeeper', CHART, ...image);
    expect(await leftovers(cp())).toContain('clusterrole.rbac.authorization.k8s.io/taintkeeper');
  });
});
