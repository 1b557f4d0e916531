import { setTimeout as delay } from 'node:timers/promises';
import { RIGHTS } from '../../scripts/chart.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { follow } from '../control-plane/follow.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { type Conditioned, isReady } from './conditions.ts';
import { type FollowedCluster, startFollowedCluster } from './followed-cluster.ts';
import { type KilledLeader, killLeader } from './measure/health.ts';
import { installProduct, kubectl, setAtRegistration } from './product.ts';
import type { RealCluster } from './real-cluster.ts';
import type { RealNode } from './real-node.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' };
const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
/** A machine that does something else besides takes half a minute for some registrations. */
const TIMEOUT_MS = 180_000;
/** How long the pods of the DaemonSet take at least until they are Ready. */
const READY_AFTER_SECONDS = 3;
/** All nodes but the first, which has the control plane and taintkeeper. */
const WORKERS = { key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['n1'] };

/** What happened on a Node after it registered. Times of one kind are resourceVersions. */
export interface Registration {
  readonly node: string;
  /** When the Node was created. */
  readonly created: number;
  /** The first pod without the toleration that was bound to it. */
  readonly bound: number | undefined;
  /** The first pod of the DaemonSet that was Ready on it. */
  readonly ready: number | undefined;
}

/** Real nodes, of which all but the first register again and again, while pods without the toleration wait for room on them. */
export interface RegisteringNodes {
  /** Has taintkeeper set the taint, and remove it when the DaemonSet is ready. Resolves when it is in force. */
  requireTaint(): Promise<void>;
  /** Has nobody set the taint any more but a controller, so long after its watch has told it of a new Node. */
  taintLate(lateMs: number): Promise<void>;
  /** All nodes register so many times together. `onEach` is told of each registration that is through. */
  register(times: number, onEach?: (registration: Registration) => void): Promise<readonly Registration[]>;
  /** How many Nodes have registered. */
  registered(): number;
  /** Of taintkeeper. */
  killLeader(): Promise<KilledLeader>;
  stop(): Promise<void>;
}

interface Node {
  readonly metadata: { readonly uid: string };
}

interface Pod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status?: Conditioned;
}

interface Seen {
  readonly node: string;
  readonly resourceVersion: number;
}

/** Whether a pod without the toleration was bound to the node before the pod of the DaemonSet was Ready there. */
export function isTooEarly({ bound, ready }: Registration): boolean {
  return bound !== undefined && bound < (ready ?? Infinity);
}

/**
 * @param workers how many nodes register again
 * @param image an archive of the product's image; without it, the Dockerfile is built
 */
export async function startRegisteringNodes(workers: number, image?: string): Promise<RegisteringNodes> {
  const options = { nodes: workers + 1, productImage: image };
  return startFollowedCluster(options, async (followed) => {
    const { cluster } = followed;
    await onFirstNode(cluster);
    await kubectl(cluster, ['apply', '-f', RIGHTS.listPods]);
    await createWorkloads(cluster, workers);
    return watchRegistrations(followed);
  });
}

async function watchRegistrations({
  cluster,
  client,
  signal,
}: FollowedCluster): Promise<Omit<RegisteringNodes, 'stop'>> {
  const created = new Map<string, Seen>();
  const bound = new Map<string, Seen>();
  const ready = new Map<string, Seen>();
  const [, ...workers] = cluster.nodes;
  let lateMs: number | undefined;

  const nodes = follow<Node>(client, '/api/v1/nodes', signal, ({ metadata: { uid } }, resourceVersion, node) => {
    if (created.has(uid)) return;
    created.set(uid, { node, resourceVersion });
    if (lateMs !== undefined) void delay(lateMs).then(() => addTaint(cluster, node, uid));
  });
  const pods = follow<Pod>(client, PODS, signal, ({ metadata, spec, status }, resourceVersion, name) => {
    if (!spec.nodeName) return;
    const found = metadata.labels?.app === 'workload' ? bound : isReady(status) ? ready : undefined;
    if (found && !found.has(name)) found.set(name, { node: spec.nodeName, resourceVersion });
  });
  await Promise.all([nodes.synced, pods.synced]);

  /** In the order of their creation. */
  function registrationsOf(node: string): Registration[] {
    const at = (seen: ReadonlyMap<string, Seen>) =>
      [...seen.values()].flatMap((one) => (one.node === node ? [one.resourceVersion] : [])).toSorted((a, b) => a - b);
    const starts = at(created);
    return starts.map((start, index) => {
      const end = starts[index + 1] ?? Infinity;
      const first = (seen: ReadonlyMap<string, Seen>) => at(seen).find((one) => one > start && one < end);
      return { node, created: start, bound: first(bound), ready: first(ready) };
    });
  }

  async function again({ name, service }: RealNode): Promise<Registration> {
    await service('kubelet').stop();
    const before = registrationsOf(name).length;
    await cluster.request(admin, 'DELETE', `/api/v1/nodes/${name}`);
    const onNode = ['pods', '--namespace', NAMESPACE, `--field-selector=spec.nodeName=${name}`];
    await kubectl(cluster, ['delete', ...onNode, '--force', '--grace-period=0']);
    service('kubelet').start();
    let last: Registration | undefined;
    return waitUntil(
      () => {
        last = registrationsOf(name)[before];
        // Where the taint comes late, pods come only where it was too late.
        const isThrough = last?.ready !== undefined && (last.bound !== undefined || lateMs !== undefined);
        return isThrough ? last : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} is not through: ${JSON.stringify(last)}` },
    );
  }

  return {
    async requireTaint() {
      const readyWhen = { daemonSets: [{ namespace: NAMESPACE, name: 'daemon' }] };
      const spec = {
        mode: 'Restore',
        nodeSelector: { matchExpressions: [WORKERS] },
        taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen }],
      };
      await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policyObject('TaintPolicy', 'network', spec)));
      await setAtRegistration(cluster, TAINT.key);
    },
    async taintLate(ms) {
      await kubectl(cluster, ['delete', 'taintpolicy', 'network']);
      lateMs = ms;
    },
    registered: () => created.size,
    killLeader: () => killLeader(cluster),
    async register(times, onEach = () => {}) {
      const registrations = await Promise.all(
        workers.map(async (worker) => {
          const all: Registration[] = [];
          for (let index = 0; index < times; index++) {
            const registration = await again(worker);
            onEach(registration);
            all.push(registration);
          }
          return all;
        }),
      );
      return registrations.flat();
    },
  };
}

/** Nodes that register again have no webhook on them. */
async function onFirstNode(cluster: RealCluster): Promise<void> {
  await Promise.all(cluster.nodes.slice(1).map(({ name }) => kubectl(cluster, ['cordon', name])));
  await installProduct(cluster);
  await Promise.all(cluster.nodes.slice(1).map(({ name }) => kubectl(cluster, ['uncordon', name])));
}

/** More pods than all nodes have room for, so that the scheduler always has one that waits; and the DaemonSet. */
async function createWorkloads(cluster: RealCluster, workers: number): Promise<void> {
  const { body } = await cluster.request<{ status: { allocatable: { cpu: string } } }>(
    admin,
    'GET',
    '/api/v1/nodes/n2',
  );
  const cpu = body.status.allocatable.cpu;
  // Two have no room on one node.
  const large = `${Math.ceil((cpu.endsWith('m') ? Number.parseInt(cpu, 10) : Number(cpu) * 1_000) * 0.6)}m`;
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [WORKERS] }] },
    },
  };
  const template = (app: string, request: string, container: object, more: object = {}) => ({
    metadata: { labels: { app } },
    spec: {
      affinity,
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'sleep', image: 'localhost/busybox:1', resources: { requests: { cpu: request } }, ...container },
      ],
      ...more,
    },
  });
  const readinessProbe = {
    exec: { command: ['/bin/busybox', 'true'] },
    initialDelaySeconds: READY_AFTER_SECONDS,
    periodSeconds: 1,
  };
  const objects = [
    {
      kind: 'Deployment',
      metadata: { name: 'workload' },
      spec: {
        replicas: 3 * workers,
        selector: { matchLabels: { app: 'workload' } },
        template: template('workload', large, {}),
      },
    },
    {
      kind: 'DaemonSet',
      metadata: { name: 'daemon' },
      spec: {
        selector: { matchLabels: { app: 'daemon' } },
        template: template('daemon', '10m', { readinessProbe }, { tolerations: [{ operator: 'Exists' }] }),
      },
    },
  ];
  for (const object of objects) {
    await kubectl(cluster, ['apply', '-n', NAMESPACE, '-f', '-'], JSON.stringify({ apiVersion: 'apps/v1', ...object }));
  }
}

/** As controllers do that are not asked at admission. */
async function addTaint(cluster: RealCluster, name: string, uid: string): Promise<void> {
  await waitUntil(
    async () => {
      const path = `/api/v1/nodes/${name}`;
      const { body } = await cluster.request<{
        metadata: { uid?: string; resourceVersion: string };
        spec: { taints?: readonly object[] };
      }>(admin, 'GET', path);
      if (body.metadata.uid !== uid) return true;
      const { resourceVersion } = body.metadata;
      const patch = { metadata: { resourceVersion }, spec: { taints: [...(body.spec.taints ?? []), TAINT] } };
      const { status } = await cluster.request(admin, 'PATCH', path, { body: patch, contentType: MERGE_PATCH });
      return status === 409 ? undefined : true;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the taint could not be written on ${name}` },
  );
}
