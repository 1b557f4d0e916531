import { beforeAll, expect, it } from 'vitest';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { agreement, pair } from './coverage-comparison.ts';
import { MIXED_DAEMON_SETS, MIXED_NODES, type MixedNode } from './mixed-cluster.ts';
import { allTaintsOf, kubectl } from './nodes.ts';

const NAMESPACE = 'coverage';
const CONTROLLERS_TIMEOUT_MS = 30_000;

describeWithControlPlane(
  'coverage agrees with the DaemonSet controller',
  {
    components: ['kube-controller-manager', 'kube-scheduler', 'kwok'],
    // Some nodes have no heartbeat, and are to stay as they are.
    nodeMonitorGraceSeconds: 600,
  },
  (cp) => {
    beforeAll(async () => {
      await Promise.all(MIXED_NODES.map((node) => createNode(cp(), node)));
      await Promise.all(MIXED_NODES.map((node) => waitForLifeCycleTaints(cp(), node)));
      await create(cp(), '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
      for (const [name, podSpec] of Object.entries(MIXED_DAEMON_SETS)) await createDaemonSet(cp(), name, podSpec);
    });

    it('for every DaemonSet on every node', async () => {
      const pods = await agreement(cp(), NAMESPACE, new Set());
      const pairs = MIXED_NODES.length * Object.keys(MIXED_DAEMON_SETS).length;
      // Agreement means something only where there is something to disagree about.
      expect(pods.size).toBeGreaterThan(pairs / 4);
      expect(pods.size).toBeLessThan(pairs / 2);
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
    });
  },
);

async function create(cp: ControlPlane, url: string, body: object): Promise<void> {
  const answer = await cp.request<{ message?: string }>(admin, 'POST', url, { body });
  expect(answer.status, answer.body.message).toBe(201);
}

/** A node that kwok makes Ready, or one with conditions of its own, which kwok would overwrite. */
async function createNode(
  cp: ControlPlane,
  { name, labels, taints, unschedulable, trouble }: MixedNode,
): Promise<void> {
  const lastHeartbeatTime = new Date().toISOString();
  const conditions = Object.entries({ Ready: 'True', ...trouble?.conditions }).map(([type, status]) => ({
    type,
    status,
    reason: 'Test',
    lastHeartbeatTime,
  }));
  const capacity = { pods: '110' };
  await create(cp, '/api/v1/nodes', {
    metadata: { name, labels, annotations: trouble ? {} : { 'kwok.x-k8s.io/node': 'fake' } },
    spec: { taints, unschedulable },
    status: trouble ? { capacity, allocatable: capacity, conditions } : {},
  });
}

/** Waits until Kubernetes has given a node the taints of its troubles, and has taken away the one that all new nodes have. */
async function waitForLifeCycleTaints(cp: ControlPlane, { name, unschedulable, trouble }: MixedNode): Promise<void> {
  const wanted = [...(trouble?.taints ?? []), ...(unschedulable ? ['unschedulable:NoSchedule'] : [])].toSorted().join();
  let found = '';
  await waitUntil(
    async () => {
      const taints = await allTaintsOf(cp, name);
      found = taints
        .flatMap((taint) => /^node\.kubernetes\.io\/(.*)/.exec(taint)?.[1] ?? [])
        .toSorted()
        .join();
      return found === wanted ? true : undefined;
    },
    { timeoutMs: CONTROLLERS_TIMEOUT_MS, otherwise: () => `${name} has the taints [${found}], not [${wanted}]` },
  );
}

async function createDaemonSet(cp: ControlPlane, name: string, podSpec: object): Promise<void> {
  const labels = { app: name };
  const spec = { containers: [{ name: 'agent', image: 'example.com/agent:1' }], ...podSpec };
  await create(cp, `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`, {
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
}
