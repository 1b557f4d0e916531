import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { INSTALL } from '../../../scripts/chart.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { skipFor } from '../../skip-for.ts';
import { type NodeObject, startTalosCluster, type TalosCluster } from './cluster.ts';
import { edited } from './edits.ts';
import { printOnFailure, startTalosLab, type TalosLab } from './lab.ts';
import type { Machine } from './machine.ts';
import { TALOS_VERSION } from './programs.ts';
import { obstacleToTalosMachines } from './provide.ts';

const START_TIMEOUT_MS = 600_000;
const STEP_TIMEOUT_MS = 240_000;
const LOG_TIMEOUT_MS = 60_000;
const ROLE = 'node-role.kubernetes.io/control-plane';
/** What the worker's configuration declares from the start. */
const DECLARED = {
  'machine.nodeLabels': { pool: 'gpu', rack: 'r7' },
  'machine.nodeTaints': { dedicated: 'gpu:NoSchedule' },
};

/** With the label of a later step. */
const LABELS = { ...DECLARED['machine.nodeLabels'], shelf: 's1' };
const NOT_ALLOWED = 'nodes "w1" is forbidden: node "w1" is not allowed to modify taints';

interface DaemonPod {
  readonly status: {
    readonly containerStatuses?: readonly { readonly ready: boolean; readonly restartCount: number }[];
  };
}

const labelled =
  (key: string, value: string | undefined) =>
  ({ metadata }: NodeObject) =>
    metadata.labels[key] === value;
const taintsOf = ({ spec }: NodeObject) =>
  (spec.taints ?? [])
    .filter(({ key }) => !key.startsWith('node.kubernetes.io/') && !key.startsWith('node.cloudprovider.'))
    .map(({ key, value, effect }) => (value ? `${key}=${value}:${effect}` : `${key}:${effect}`));
const ownedBy = ({ metadata }: NodeObject, what: 'taints' | 'labels') =>
  JSON.parse(metadata.annotations[`talos.dev/owned-${what}`] ?? '[]') as string[];

/** Talos quotes the errors of the API server as JSON. */
const saidBy = (machine: Machine) => machine.log().replaceAll('\\"', '"');

/** Each test goes on from where the one before has left the cluster. */
describe(`a cluster of Talos ${TALOS_VERSION}`, skipFor(obstacleToTalosMachines()), () => {
  let lab: TalosLab;
  let cluster: TalosCluster;
  /** In force on each machine. */
  let configurations: { controlPlane: string; worker: string };

  beforeAll(async () => {
    lab = await startTalosLab();
    cluster = await startTalosCluster(lab, DECLARED);
    configurations = cluster.configurations;
  }, START_TIMEOUT_MS);
  afterAll(() => lab?.stop());
  afterEach(printOnFailure(() => lab));

  const files = () => [
    lab.workspace.write('controlplane.yaml', configurations.controlPlane),
    lab.workspace.write('gpu.yaml', configurations.worker),
  ];
  const talos = (...args: string[]) => cluster.taintkeeper(['talos', ...args]);

  /** Applies a changed configuration, as docs/talos.md does: without a reboot, which the doctor foretells. */
  async function apply(role: 'controlPlane' | 'worker', set: Readonly<Record<string, unknown>>): Promise<void> {
    configurations = { ...configurations, [role]: edited(configurations[role], { set }) };
    const file = files()[role === 'controlPlane' ? 0 : 1] ?? '';
    const { address } = cluster[role];
    const { code, stdout } = await talos(
      'doctor',
      '--talosconfig',
      cluster.talosconfig,
      '--nodes',
      address,
      '-f',
      file,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('without a reboot') });
    const applied = () =>
      cluster.talosctl(['apply-config', '--nodes', address, '--file', file, '--mode', 'no-reboot']).then(
        () => true,
        (error: unknown) => {
          // apid restarts after a boot, when the machine has a certificate of its cluster.
          if (!`${error}`.includes('code = Unavailable')) throw error;
          return undefined;
        },
      );
    await waitUntil(applied, { timeoutMs: LOG_TIMEOUT_MS, otherwise: () => `${address} takes no configuration` });
  }

  /** Resolves when the replica judges the removal of the role's taint by it. */
  async function setMode(mode: 'Deny' | 'Restore' | 'Audit'): Promise<void> {
    await cluster.kubectl([
      'patch',
      'taintpolicy',
      'control-plane-taints',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { mode } }),
    ]);
    const removal = ['taint', 'node', 'cp1', `${ROLE}:NoSchedule-`, '--dry-run=server', '-o', 'json'];
    await waitUntil(
      async () => {
        const after = await cluster.kubectl(removal).then(
          (stdout) => (taintsOf(JSON.parse(stdout) as NodeObject).length === 0 ? 'Audit' : 'Restore'),
          (error: unknown) => (`${error}`.includes('is not allowed') ? 'Deny' : undefined),
        );
        return after === mode || undefined;
      },
      { timeoutMs: LOG_TIMEOUT_MS, otherwise: () => `the default policy is not in mode ${mode}` },
    );
  }

  it(
    'has a control plane with its taint, and a worker that Talos could neither taint nor label',
    async () => {
      await cluster.nodeIs(
        cluster.controlPlane,
        (node) => taintsOf(node).join() === `${ROLE}:NoSchedule` && node.metadata.labels[ROLE] === '',
        'a control plane with its taint',
      );
      await waitUntil(() => saidBy(cluster.worker).includes(NOT_ALLOWED) || undefined, {
        timeoutMs: LOG_TIMEOUT_MS,
        otherwise: () => `Talos does not say: ${NOT_ALLOWED}`,
      });
      const worker = await cluster.node(cluster.worker);
      expect(taintsOf(worker)).toEqual([]);
      expect(worker.metadata.labels).not.toHaveProperty('pool');
    },
    STEP_TIMEOUT_MS,
  );

  it('lint says so before, and drift says what is missing', async () => {
    const [, gpu = ''] = files();
    const lint = await talos('lint', gpu, '--talos-version', '1.13');
    expect({ code: lint.code, stdout: lint.stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('worker-taint  machine.nodeTaints.dedicated'),
    });
    const drift = await talos('drift', ...files(), '--node', `w1=${gpu}`);
    expect({ code: drift.code, stdout: drift.stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/missing +taint dedicated=gpu:NoSchedule.*2 nodes compared, 1 as declared/s),
    });
  });

  it(
    'the policies of its configurations give the worker its taint, and Talos takes it over and sets the labels',
    async () => {
      await cluster.install(INSTALL);
      const policies = await talos('policies', ...files());
      expect(policies.code, policies.stderr).toBe(0);
      await cluster.kubectl(['apply', '-f', '-'], policies.stdout);
      // As the guide says: label a registered node once.
      await cluster.kubectl(['label', 'node', 'w1', 'pool=gpu', 'rack=r7']);
      const worker = await cluster.nodeIs(
        cluster.worker,
        (node) => taintsOf(node).includes('dedicated=gpu:NoSchedule') && ownedBy(node, 'taints').includes('dedicated'),
        'tainted and taken over',
      );
      expect(ownedBy(worker, 'labels')).toEqual(expect.arrayContaining(['pool', 'rack']));
      await apply('worker', { 'machine.nodeLabels': LABELS });
      await cluster.nodeIs(cluster.worker, labelled('shelf', 's1'), 'labelled');
    },
    STEP_TIMEOUT_MS,
  );

  it('drift says that all is as declared', async () => {
    expect(await talos('drift', ...files())).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2 nodes compared, 2 as declared'),
    });
  });

  it(
    'a worker keeps a taint whose declaration is removed, and drift says that it is claimed',
    async () => {
      await apply('worker', { 'machine.nodeTaints': undefined });
      const worker = await cluster.node(cluster.worker);
      expect(taintsOf(worker)).toEqual(['dedicated=gpu:NoSchedule']);
      const { code, stdout } = await talos('drift', ...files());
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringMatching(/claimed +taint dedicated=gpu:NoSchedule/),
      });
      const refused = () => saidBy(cluster.worker).split(NOT_ALLOWED).length;
      const before = refused();
      await apply('worker', { 'machine.nodeLabels': { ...LABELS, slot: '4' } });
      await waitUntil(() => refused() > before + 1 || undefined, {
        timeoutMs: LOG_TIMEOUT_MS,
        otherwise: () => 'Talos does not say that its update was refused',
      });
      expect((await cluster.node(cluster.worker)).metadata.labels).not.toHaveProperty('slot');
      await cluster.kubectl(['annotate', 'node', 'w1', 'talos.dev/owned-taints-']);
      const released = await cluster.nodeIs(cluster.worker, labelled('slot', '4'), 'labelled once released');
      expect(taintsOf(released)).toEqual(['dedicated=gpu:NoSchedule']);
      await apply('worker', { 'machine.nodeTaints': DECLARED['machine.nodeTaints'], 'machine.nodeLabels': LABELS });
      await cluster.nodeIs(cluster.worker, labelled('slot', undefined), 'without the label');
      expect((await talos('drift', ...files())).stdout).toContain('2 nodes compared, 2 as declared');
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'a control plane sets what it declares, also again, and removes it, except the key of another writer',
    async () => {
      await cluster.kubectl(['taint', 'node', 'cp1', 'example.com/foreign=other:NoSchedule']);
      await apply('controlPlane', {
        'machine.nodeTaints': { 'example.com/own': 'yes:PreferNoSchedule', 'example.com/foreign': 'mine:NoSchedule' },
      });
      const [role, foreign, own] = [
        `${ROLE}:NoSchedule`,
        'example.com/foreign=other:NoSchedule',
        'example.com/own=yes:PreferNoSchedule',
      ];
      const carries = (...taints: readonly string[]) =>
        cluster.nodeIs(
          cluster.controlPlane,
          (node) => taintsOf(node).toSorted().join() === taints.toSorted().join(),
          `tainted with ${taints}`,
        );
      const node = await carries(role, foreign, own);
      expect(ownedBy(node, 'taints')).not.toContain('example.com/foreign');
      // Talos follows labels, annotations, readiness and cordon of its node, and not its taints.
      await cluster.kubectl(['taint', 'node', 'cp1', 'example.com/own-']);
      await cluster.kubectl(['annotate', 'node', 'cp1', 'example.com/seen=yes']);
      await carries(role, foreign, own);
      await apply('controlPlane', { 'machine.nodeTaints': undefined });
      await carries(role, foreign);
      await cluster.kubectl(['taint', 'node', 'cp1', 'example.com/foreign-']);
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'in mode Restore the default policy costs no label, and in mode Audit the taint goes',
    async () => {
      // It requires the taint as well, in mode Restore.
      await cluster.kubectl(['delete', 'taintpolicy', 'talos-control-planes']);
      await setMode('Restore');
      await apply('controlPlane', {
        'cluster.allowSchedulingOnControlPlanes': true,
        'machine.nodeLabels': { early: 'yes' },
      });
      // Talos takes its request for done. It may have had the label first, and the removal in a second update.
      const isDone = (node: NodeObject) => node.metadata.labels.early === 'yes' && ownedBy(node, 'taints').length === 0;
      const restored = await cluster.nodeIs(cluster.controlPlane, isDone, 'labelled, and without a taint of Talos');
      expect(taintsOf(restored)).toEqual([`${ROLE}:NoSchedule`]);
      const isOwned = (node: NodeObject) =>
        taintsOf(node).join() === `${ROLE}:NoSchedule` && ownedBy(node, 'taints').join() === ROLE;
      await apply('controlPlane', { 'cluster.allowSchedulingOnControlPlanes': undefined });
      await cluster.nodeIs(cluster.controlPlane, isOwned, 'taken over');
      await setMode('Audit');
      await apply('controlPlane', { 'cluster.allowSchedulingOnControlPlanes': true });
      await cluster.nodeIs(cluster.controlPlane, (node) => taintsOf(node).length === 0, 'without its taint');
      await apply('controlPlane', { 'cluster.allowSchedulingOnControlPlanes': undefined });
      await cluster.nodeIs(cluster.controlPlane, isOwned, 'tainted again');
      await setMode('Deny');
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'the default policy denies a control plane its new labels with the removal, until that is allowed',
    async () => {
      const denied =
        /admission webhook "protect\.taintkeeper\.dev" denied the request: node cp1: removing taint \S+ is not allowed/g;
      const denials = () => saidBy(cluster.controlPlane).match(denied)?.length ?? 0;
      const isDeniedAgain = async (times: number) => {
        const before = denials();
        await waitUntil(() => denials() >= before + times || undefined, {
          timeoutMs: LOG_TIMEOUT_MS,
          otherwise: () => 'Talos does not say that the removal was denied',
        });
      };
      await apply('controlPlane', { 'cluster.allowSchedulingOnControlPlanes': true });
      await isDeniedAgain(1);
      await apply('controlPlane', { 'machine.nodeLabels': { late: 'yes' } });
      const { address } = cluster.controlPlane;
      const spec = () => cluster.talosctl(['get', 'nodelabelspecs', 'late', '--nodes', address]).catch(() => undefined);
      await waitUntil(spec, { timeoutMs: LOG_TIMEOUT_MS, otherwise: () => 'Talos has no label to set' });
      // Talos has one update for both. The first denial may be of an update that was made before the label was declared.
      await isDeniedAgain(2);
      const before = await cluster.node(cluster.controlPlane);
      expect(taintsOf(before)).toEqual([`${ROLE}:NoSchedule`]);
      expect(before.metadata.labels).not.toHaveProperty('late');
      const annotation = `taintkeeper.dev/allow-removal=${ROLE}:NoSchedule`;
      await cluster.kubectl(['annotate', '--overwrite', 'node', 'cp1', annotation]);
      await cluster.nodeIs(
        cluster.controlPlane,
        (node) => taintsOf(node).length === 0 && node.metadata.labels.late === 'yes',
        'without its taint, and labelled',
      );
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'a control plane gets its taint back with allowSchedulingOnControlPlanes switched off',
    async () => {
      await apply('controlPlane', { 'cluster.allowSchedulingOnControlPlanes': undefined });
      await cluster.nodeIs(
        cluster.controlPlane,
        (node) => taintsOf(node).join() === `${ROLE}:NoSchedule`,
        'tainted again',
      );
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'a worker has its taint and its labels after a power cut, and its daemon pod runs again',
    async () => {
      await cluster.kubectl(['apply', '-f', '-'], NETWORK);
      const ofNetwork = ['get', 'pods', '--namespace', 'kube-system', '--selector', 'app=network'];
      const onWorker = [...ofNetwork, '--field-selector', 'spec.nodeName=w1', '--output', 'json'];
      let seen = '';
      const runs = (restarts: number) =>
        waitUntil(
          async () => {
            const pods: DaemonPod[] = await cluster.kubectl(onWorker).then(
              (list) => JSON.parse(list).items,
              (error) => {
                seen = `${error}`;
                return [];
              },
            );
            const [pod] = pods;
            if (pod) seen = JSON.stringify(pod.status);
            const [container] = pod?.status.containerStatuses ?? [];
            return (container?.ready && container.restartCount >= restarts) || undefined;
          },
          {
            timeoutMs: STEP_TIMEOUT_MS / 2,
            otherwise: () => `no daemon pod runs after ${restarts} restarts: ${seen}`,
          },
        );
      await runs(0);
      await cluster.worker.cutPower();
      await cluster.worker.boot();
      await runs(1);
      const worker = await cluster.node(cluster.worker);
      expect(taintsOf(worker)).toEqual(['dedicated=gpu:NoSchedule']);
      expect(worker.metadata.labels).toMatchObject({ pool: 'gpu', rack: 'r7', shelf: 's1' });
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'a worker registers with the label and the taints of the patch of docs/talos.md',
    async () => {
      const file = lab.workspace.write('gpu.yaml', configurations.worker);
      const patch = join(import.meta.dirname, '../../../examples/talos/gpu-registration.yaml');
      const patched = lab.workspace.path('gpu-new.yaml');
      await lab.talosctl(['machineconfig', 'patch', file, '--patch', `@${patch}`, '--output', patched]);
      configurations = { ...configurations, worker: readFileSync(patched, 'utf8') };
      await apply('worker', {});
      // Of all that registration gives, the policy gives nothing here.
      await cluster.kubectl(['delete', 'taintpolicy', '--all']);
      await cluster.worker.cutPower();
      await cluster.kubectl(['delete', 'node', 'w1']);
      await cluster.worker.boot();
      const worker = await cluster.nodeIs(cluster.worker, labelled('pool', 'gpu'), 'registered with its label');
      expect(taintsOf(worker)).toEqual(
        expect.arrayContaining(['dedicated=gpu:NoSchedule', 'node.cilium.io/agent-not-ready=true:NoExecute']),
      );
      await cluster.nodeIs(cluster.worker, labelled('rack', 'r7'), 'labelled by Talos');
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'a worker whose Node was deleted registers again once its kubelet restarts, as docs/restore-etcd.md says',
    async () => {
      await cluster.kubectl(['delete', 'node', 'w1']);
      // Just after the boot, a connection to apid may be reset.
      let refusal: unknown;
      await waitUntil(
        () =>
          cluster.talosctl(['--nodes', cluster.worker.address, 'service', 'kubelet', 'restart']).then(
            () => true,
            (error) => {
              refusal = error;
              return undefined;
            },
          ),
        { timeoutMs: STEP_TIMEOUT_MS / 2, otherwise: () => `the kubelet is not restarted: ${refusal}` },
      );
      await cluster.nodeIs(cluster.worker, labelled('pool', 'gpu'), 'registered again');
    },
    STEP_TIMEOUT_MS,
  );

  it('lint reads the configuration in force', async () => {
    const live = await cluster.talosctl(['--nodes', cluster.worker.address, 'get', 'machineconfig', '-o', 'yaml']);
    const file = lab.workspace.write('live.yaml', live);
    expect(parseAllDocuments(live).length).toBeGreaterThan(0);
    const { code, stdout } = await talos('lint', file, '--talos-version', '1.13', '--fail-on', 'refused');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining('worker-taint') });
  });
});

/** A daemon in the network of its node, as a CNI plugin is. */
const NETWORK = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: network, namespace: kube-system }
spec:
  selector: { matchLabels: { app: network } }
  template:
    metadata: { labels: { app: network } }
    spec:
      hostNetwork: true
      tolerations: [{ operator: Exists }]
      containers:
        - name: network
          image: registry.example.com/pause:1
          command: [/usr/bin/busybox, sleep, "1000000"]
`;
