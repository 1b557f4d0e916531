import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../test/control-plane/content-types.ts';
import type { ControlPlane } from '../test/control-plane/control-plane.ts';
import { WITH_KUBELET } from '../test/control-plane/kubelets/with-kubelet.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { admin, type User } from '../test/control-plane/users.ts';
import { type Node, path, type Taint } from '../test/e2e/nodes.ts';
import { annotations, features, POOL, status, TAINT } from './large-node.ts';
import { forEach } from './side-by-side.ts';

/** How many requests the bench has on their way at a time. */
const CONCURRENCY = 16;

const JSON_TYPE = 'application/json';
const PAGE_SIZE = 250;

/** Makes nodes that carry {@link TAINT}, and returns their names. Each has a kubelet where the control plane has them. */
export async function createNodes(cp: ControlPlane, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, node) => `worker-${node}.bench.example.com`);
  const send = (method: string, url: string, body: unknown, contentType: string) =>
    ask(cp, admin, method, url, body, contentType);
  await forEach(names, CONCURRENCY, async (name, node) => {
    const metadata = {
      name,
      labels: { ...POOL, 'kubernetes.io/hostname': name },
      annotations: WITH_KUBELET,
    };
    await send('POST', '/api/v1/nodes?fieldManager=kubelet', { metadata, spec: { taints: [TAINT] } }, JSON_TYPE);
    await send('PATCH', `${path(name)}?fieldManager=nfd-master`, { metadata: { labels: features(node) } }, MERGE_PATCH);
    await send(
      'PATCH',
      `${path(name)}?fieldManager=agents`,
      { metadata: { annotations: annotations(node) } },
      MERGE_PATCH,
    );
    await send('PATCH', `${path(name)}/status?fieldManager=kubelet`, { status: status(node) }, STRATEGIC_MERGE_PATCH);
  });
  return names;
}

/** Makes DaemonSets without pods: no node has what they select. */
export async function createDaemonSets(cp: ControlPlane, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const labels = { app: `agent-${n}` };
    const template = {
      metadata: { labels },
      spec: {
        nodeSelector: { 'example.com/pool': 'none' },
        containers: [{ name: 'agent', image: 'registry.example.com/agent' }],
      },
    };
    const body = { metadata: { name: `agent-${n}` }, spec: { selector: { matchLabels: labels }, template } };
    await ask(cp, admin, 'POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', body, JSON_TYPE);
  }
}

const isTainted = ({ taints = [] }: Node['spec']) =>
  taints.some(({ key, value, effect }) => key === TAINT.key && value === TAINT.value && effect === TAINT.effect);

/** Sets the taints of all nodes, with as many requests at a time as `concurrency`. Throws when a node does not get them. */
export async function setTaints(
  cp: ControlPlane,
  names: readonly string[],
  { user, taints, concurrency = CONCURRENCY }: { user: User; taints: readonly Taint[]; concurrency?: number },
): Promise<void> {
  await forEach(names, concurrency, async (name) => {
    const { spec } = await ask<Node>(cp, user, 'PATCH', path(name), { spec: { taints } }, MERGE_PATCH);
    if (isTainted(spec) !== taints.length > 0) throw new Error(`${name} has ${JSON.stringify(spec.taints)}`);
  });
}

/** What all nodes are like. */
export interface Survey {
  count: number;
  /** Of one node as JSON, on average. */
  bytes: number;
  /** How many carry {@link TAINT}. */
  tainted: number;
  /** How many the API server's admission made not-ready, with nobody having seen them ready since. */
  notReady: number;
}

export async function survey(cp: ControlPlane): Promise<Survey> {
  const found: Survey = { count: 0, bytes: 0, tainted: 0, notReady: 0 };
  let next = '';
  do {
    const url = `/api/v1/nodes?limit=${PAGE_SIZE}&continue=${next}`;
    const page = await ask<{ metadata: { continue?: string }; items: Node[] }>(cp, admin, 'GET', url);
    for (const node of page.items) {
      found.count++;
      found.bytes += Buffer.byteLength(JSON.stringify(node));
      if (isTainted(node.spec)) found.tainted++;
      if (node.spec.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready')) found.notReady++;
    }
    next = page.metadata.continue ?? '';
  } while (next !== '');
  return { ...found, bytes: found.bytes / found.count };
}

async function ask<T>(cp: ControlPlane, user: User, method: string, url: string, body?: unknown, contentType?: string) {
  return succeeded(cp.request<T>(user, method, url, { body, ...(contentType ? { contentType } : {}) }));
}
