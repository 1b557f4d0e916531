import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { countPairs, podsIn, readCoverage, runCoverage } from './coverage-command.ts';
import { agreement, pair } from './coverage-comparison.ts';
import { createDaemonSet, daemonSetManifest, getDaemonSet } from './daemon-sets.ts';
import { type Installation, install } from './installation.ts';
import { MIXED_DAEMON_SETS, MIXED_NODES, type MixedNode } from './mixed-cluster.ts';
import { allTaintsOf, kubectl } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';

const NAMESPACE = 'coverage';
const CONTROLLERS_TIMEOUT_MS = 30_000;
/** A DaemonSet is watched for a while before it is changed. */
const FIX_TIMEOUT_MS = 45_000;

describeWithControlPlane(
  'coverage agrees with the DaemonSet controller',
  {
    components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'],
    // Some nodes have no heartbeat, and are to stay as they are.
    nodeMonitorGraceSeconds: 600,
  },
  (cp) => {
    beforeAll(async () => {
      await Promise.all(MIXED_NODES.map((node) => createNode(cp(), node)));
      await Promise.all(MIXED_NODES.map((node) => waitForLifeCycleTaints(cp(), node)));
      await create(cp(), '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
      for (const [name, podSpec] of Object.entries(MIXED_DAEMON_SETS))
        await createDaemonSet(cp(), daemonSetManifest(NAMESPACE, name, podSpec));
    });

    it('for every DaemonSet on every node', async () => {
      const pods = await agreement(cp(), NAMESPACE, new Set());
      const pairs = MIXED_NODES.length * Object.keys(MIXED_DAEMON_SETS).length;
      // Agreement means something only where there is something to disagree about.
      expect(pods.size).toBeGreaterThan(pairs / 4);
      expect(pods.size).toBeLessThan(pairs / 2);
      await commandAgrees(cp(), pods, pairs);
    });

    it('and on what becomes of their pods when nodes change', async () => {
      const before = await agreement(cp(), NAMESPACE, new Set());
      for (const args of [
        ['taint', 'node', 'plain', 'example.com/late:NoSchedule'],
        ['taint', 'node', 'preferring', 'example.com/late:NoExecute'],
        ['taint', 'node', 'master', 'node-role.kubernetes.io/master-'],
        ['label', 'node', 'gpu', 'pool=batch', 'cores=4', '--overwrite'],
        // A taint that leaves a pod where it is makes the controller count nothing anew; a changed DaemonSet does.
        ['annotate', 'daemonset', '--all', '-n', NAMESPACE, 'example.com/count=anew'],
      ])
        expect(await kubectl(cp(), admin, args)).toMatchObject({ passed: true });

      const after = await agreement(cp(), NAMESPACE, before);
      const became = (daemonSet: string, node: string) =>
        [before, after].map((pods) => (pods.has(pair(daemonSet, node)) ? 'pod' : '-')).join(' → ');
      expect({
        stays: became('anywhere', 'plain'),
        isEvicted: became('anywhere', 'preferring'),
        arrives: became('anywhere', 'master'),
        isDeleted: became('selects-gpu', 'gpu'),
      }).toEqual({ stays: 'pod → pod', isEvicted: 'pod → -', arrives: '- → pod', isDeleted: 'pod → -' });
      await commandAgrees(cp(), after, MIXED_NODES.length * Object.keys(MIXED_DAEMON_SETS).length);
    });

    it('and with the scheduler, where it finds no room', async () => {
      await create(cp(), '/api/v1/namespaces', { metadata: { name: 'hungry' } });
      const resources = { requests: { cpu: '1000000' } };
      const containers = [{ name: 'agent', image: 'example.com/agent:1', resources }];
      const podSpec = { containers, nodeSelector: { cores: '10' } };
      await createDaemonSet(cp(), daemonSetManifest('hungry', 'hungry', podSpec));
      const missing = async () => {
        const { daemonSets } = await readCoverage(cp(), '-n', 'hungry', '--node', 'empty-label');
        return daemonSets.flatMap(({ cells }) =>
          cells.flatMap(({ pods }) => pods?.missing.map(({ why }) => why) ?? []),
        );
      };
      await expect
        .poll(missing, { timeout: CONTROLLERS_TIMEOUT_MS })
        .toEqual([expect.stringMatching(/^its pod is not scheduled: .*Insufficient cpu/)]);
    });

    it('the steps of a migration, followed one by one, cost no daemon its node', async () => {
      // A pod that stays only because it was there would not survive a new template, whatever the taints are.
      await pasteRemedy(cp(), 'kubectl taint node plain example.com/late-');
      let pods = await agreement(cp(), NAMESPACE, new Set());
      const { stdout } = await runCoverage(cp(), 'migrate', '-o', 'json');
      const { steps } = JSON.parse(stdout) as { steps: { commands: string[]; byHand: string[] }[] };
      expect(steps.flatMap(({ byHand }) => byHand)).toEqual([]);
      expect(steps.map(({ commands }) => commands.length > 0)).toEqual([true, true, true, false, true, true]);
      for (const { commands } of steps.filter(({ commands }) => commands.length > 0)) {
        for (const command of commands) await pasteRemedy(cp(), command);
        const then = await agreement(cp(), NAMESPACE, pods);
        expect([...pods].filter((each) => !then.has(each))).toEqual([]);
        pods = then;
      }
      expect((await runCoverage(cp(), 'migrate')).stdout).toMatch(/^No step is left\.$/m);
    });

    describe('fix, applied', () => {
      let installation: Installation;
      beforeAll(async () => {
        installation = await install(cp(), ['patchDaemonSets']);
        await installation.start(['a']);
      });
      afterAll(() => installation.stop());

      it('closes the gaps, and no others', async () => {
        await create(cp(), '/api/v1/namespaces', { metadata: { name: 'fixed' } });
        await pasteRemedy(cp(), 'kubectl label node control-plane plain gpu selected=yes');
        const incomplete = { nodeSelector: { selected: 'yes' } };
        const tolerant = { ...incomplete, tolerations: [{ operator: 'Exists' }] };
        for (const [name, podSpec] of Object.entries({ incomplete, tolerant }))
          await createDaemonSet(cp(), daemonSetManifest('fixed', name, podSpec));
        const gaps = async () => {
          const { gaps } = await readCoverage(cp(), '-n', 'fixed');
          return gaps.map(({ name, nodes }) => `${name}: ${nodes}`);
        };
        expect(await gaps()).toEqual(['incomplete: control-plane', 'incomplete: gpu']);

        const { stdout } = await runCoverage(cp(), 'fix', '-n', 'fixed');
        expect(await kubectl(cp(), admin, ['apply', '-f', '-'], stdout)).toMatchObject({ passed: true });

        await expect.poll(gaps, { timeout: FIX_TIMEOUT_MS, interval: 500 }).toEqual(['incomplete: gpu']);
        const missing = async () => {
          const { daemonSets } = await readCoverage(cp(), '-n', 'fixed');
          return daemonSets.flatMap(({ cells }) => cells.flatMap(({ pods }) => pods?.missing ?? []));
        };
        await expect.poll(missing, { timeout: CONTROLLERS_TIMEOUT_MS, interval: 500 }).toEqual([]);
        expect((await getDaemonSet(cp(), 'fixed', 'tolerant')).metadata.generation).toBe(1);
      });
    });
  },
);

/** Whether alike nodes are one group or not. */
async function commandAgrees(cp: ControlPlane, pods: ReadonlySet<string>, pairs: number): Promise<void> {
  for (const args of [[], ['--node', '*']]) {
    const report = await readCoverage(cp, '-n', NAMESPACE, ...args);
    expect(countPairs(report)).toBe(pairs);
    expect([...podsIn(report)].toSorted()).toEqual([...pods].toSorted());
  }
}

async function create(cp: ControlPlane, url: string, body: object): Promise<void> {
  const answer = await cp.request<{ message?: string }>(admin, 'POST', url, { body });
  expect(answer.status, answer.body.message).toBe(201);
}

/** A node that its kubelet makes Ready, or one with conditions of its own, which a kubelet would overwrite. */
async function createNode(
  cp: ControlPlane,
  { name, labels, taints, unschedulable, problem }: MixedNode,
): Promise<void> {
  const lastHeartbeatTime = new Date().toISOString();
  const conditions = Object.entries({ Ready: 'True', ...problem?.conditions }).map(([type, status]) => ({
    type,
    status,
    reason: 'Test',
    lastHeartbeatTime,
  }));
  const capacity = { pods: '110' };
  await create(cp, '/api/v1/nodes', {
    metadata: { name, labels, annotations: problem ? {} : WITH_KUBELET },
    spec: { taints, unschedulable },
    status: problem ? { capacity, allocatable: capacity, conditions } : {},
  });
}

/** Waits until Kubernetes has given a node the taints of its problems, and has taken away the one that all new nodes have. */
async function waitForLifeCycleTaints(cp: ControlPlane, { name, unschedulable, problem }: MixedNode): Promise<void> {
  const expected = [...(problem?.taints ?? []), ...(unschedulable ? ['unschedulable:NoSchedule'] : [])]
    .toSorted()
    .join();
  let found = '';
  await waitUntil(
    async () => {
      const taints = await allTaintsOf(cp, name);
      found = taints
        .flatMap((taint) => /^node\.kubernetes\.io\/(.*)/.exec(taint)?.[1] ?? [])
        .toSorted()
        .join();
      return found === expected ? true : undefined;
    },
    { timeoutMs: CONTROLLERS_TIMEOUT_MS, otherwise: () => `${name} has the taints [${found}], not [${expected}]` },
  );
}
