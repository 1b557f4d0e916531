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
    await cluster.talosctl(['apply-config', '--nodes', address, '--file', file, '--mode', 'no-reboot']);
  }

  it(
    'has a control plane with its taint, and a worker that Talos could neither taint nor label',
    async () => {
      await cluster.nodeIs(
        cluster.controlPlane,
        (node) => taintsOf(node).join() === `${ROLE}:NoSchedule` && node.metadata.labels[ROLE] === '',
        'a control plane with its taint',
      );
      const refusal = 'nodes "w1" is forbidden: node "w1" is not allowed to modify taints';
      await waitUntil(() => saidBy(cluster.worker).includes(refusal) || undefined, {
        timeoutMs: LOG_TIMEOUT_MS,
        otherwise: () => `Talos does not say: ${refusal}`,
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
      await apply('worker', { 'machine.nodeLabels': { ...DECLARED['machine.nodeLabels'], shelf: 's1' } });
      await cluster.nodeIs(cluster.worker, ({ metadata }) => metadata.labels.shelf === 's1', 'labelled');
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
      await apply('worker', { 'machine.nodeTaints': DECLARED['machine.nodeTaints'] });
      expect((await talos('drift', ...files())).stdout).toContain('2 nodes compared, 2 as declared');
    },
    STEP_TIMEOUT_MS,
  );

  it(
    'the default policy denies a control plane its new labels with the removal, until that is allowed',
    async () => {
      // It is in mode Restore, and the default policy in mode Deny.
      await cluster.kubectl(['delete', 'taintpolicy', 'talos-control-planes']);
      const removal = ['taint', 'node', 'cp1', `${ROLE}:NoSchedule-`, '--dry-run=server'];
      const isDenied = () =>
        cluster.kubectl(removal).then(
          () => undefined,
          (error: unknown) => `${error}`.includes('is not allowed') || undefined,
        );
      await waitUntil(isDenied, { timeoutMs: LOG_TIMEOUT_MS, otherwise: () => 'the removal is not denied' });
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
      const daemonPod = async () => {
        const [pod] = (
          JSON.parse(
            await cluster.kubectl([
              'get',
              'pods',
              '-n',
              'kube-system',
              '-l',
              'app=network',
              '-o',
              'json',
              '--field-selector',
              'spec.nodeName=w1',
            ]),
          ) as {
            items: {
              metadata: { uid: string };
              status: { phase: string; containerStatuses?: { restartCount: number; ready: boolean }[] };
            }[];
          }
        ).items;
        return pod?.status;
      };
      const isRunning = async (restarts: number) => {
        const [container] = (await daemonPod().catch(() => undefined))?.containerStatuses ?? [];
        return (container?.ready && container.restartCount >= restarts) || undefined;
      };
      await waitUntil(() => isRunning(0), { timeoutMs: STEP_TIMEOUT_MS / 2, otherwise: () => 'no daemon pod runs' });
      await cluster.worker.cutPower();
      await cluster.worker.boot();
      await waitUntil(() => isRunning(1), {
        timeoutMs: STEP_TIMEOUT_MS / 2,
        otherwise: () => 'no daemon pod runs again',
      });
      const worker = await cluster.node(cluster.worker);
      expect(taintsOf(worker)).toEqual(['dedicated=gpu:NoSchedule']);
      expect(worker.metadata.labels).toMatchObject({ pool: 'gpu', rack: 'r7', shelf: 's1' });
    },
    STEP_TIMEOUT_MS,
  );

  it('lint reads the configuration in force', async () => {
    const live = await cluster.talosctl(['--nodes', cluster.worker.address, 'get', 'machineconfig', '-o', 'yaml']);
    const file = lab.workspace.write('live.yaml', live);
    expect(parseAllDocuments(live).length).toBeGreaterThan(0);
    const { code, stdout } = await talos('lint', file, '--talos-version', '1.13', '--fail-on', 'refused');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('worker-taint') });
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
