import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { issueCa, issueServing } from '../src/certs/issue.ts';
import { tokenBucket } from '../src/runtime/token-bucket.ts';
import type { Taint } from '../test/e2e/nodes.ts';
import { type NodeState, simulateNodes, taintOf } from './far-out/simulated-nodes.ts';
import { createEventLog, createObjectStore, jsonPatched, mergePatched } from './far-out/simulated-store.ts';

/**
 * As much of an API server as a leader of taintkeeper asks: lists in pages, watches with bookmarks, patches that a resourceVersion
 * makes conditional, and 429 for what is too much. There is no etcd behind it, no admission, no RBAC and no validation: it shows what
 * a leader takes at a size that no API server of a laptop has. far-out.ts runs it, as a process of its own.
 *
 * Prints one line of JSON when it listens, {@link Started}. What is not of Kubernetes is below `/bench/`: POST `heartbeats`, `limit`,
 * `wipe`, `recount`, with the body that {@link Controls} says; GET `state`, a {@link SimulatedState}.
 */
export interface Started {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

export interface Controls {
  /** How many updates of nodes' status come in a second, of one node after the other. */
  readonly heartbeats: { readonly perSecond: number };
  /** How many requests a second are answered: what is more gets a 429, with `Retry-After: 1`. Absent: all. */
  readonly limit: { readonly perSecond?: number };
  /** Takes the taints of all nodes away at once. */
  readonly wipe: Record<string, never>;
  /** Begins to count anew. */
  readonly recount: Record<string, never>;
}

export interface SimulatedState {
  /** How many nodes carry the taint of their pool. */
  readonly tainted: number;
  /** How many policies have a status. */
  readonly statuses: number;
  /** Those of taintkeeper, by verb, resource and status, such as `patch nodes 200`. */
  readonly requests: Readonly<Record<string, number>>;
}

const NODES = '/api/v1/nodes';
const POLICY_API = '/apis/taintkeeper.dev/v1alpha1';
const POLICY_RESOURCES = ['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions', 'recoverypolicies'];
/** Collections that are there; what else is asked for is not found. */
const SERVED = new Set([
  NODES,
  ...['configmaps', 'secrets', 'services', 'pods', 'namespaces'].map((resource) => `/api/v1/${resource}`),
  '/apis/apps/v1/daemonsets',
  '/apis/coordination.k8s.io/v1/leases',
  '/apis/events.k8s.io/v1/events',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ...POLICY_RESOURCES.map((resource) => `${POLICY_API}/${resource}`),
  ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map(
    (one) => `/apis/admissionregistration.k8s.io/v1/${one}`,
  ),
]);
const REVIEWS: Readonly<Record<string, object>> = {
  selfsubjectreviews: { userInfo: { username: 'system:serviceaccount:taintkeeper:taintkeeper', uid: 'taintkeeper' } },
  // As manifests/install.yaml has it: nothing that is optional.
  selfsubjectaccessreviews: { allowed: false },
};
const TOO_MANY = 429;
const BURST = 20;
const BOOKMARK_MS = 60_000;
const BEAT_MS = 50;

const { values: flags } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    pools: { type: 'string', default: '20' },
    'daemon-sets': { type: 'string', default: '200' },
  },
});
const count = Number(flags.nodes);
const pools = Number(flags.pools);

const log = createEventLog();
const store = createObjectStore(log);
const nodes = simulateNodes(count, pools);
const states = Array.from({ length: count }, (_, index): NodeState => {
  const taint = taintOf(index % pools);
  return { revision: log.revision(), taints: [taint], annotations: {}, beat: new Date().toISOString() };
});
for (let n = 0; n < Number(flags['daemon-sets']); n++) createDaemonSet(n);
store.put('/api/v1/services', 'taintkeeper', 'taintkeeper', { spec: { clusterIP: '127.0.0.1' } });

let requests: Record<string, number> = {};
let bucket: ReturnType<typeof tokenBucket> | undefined;
let beating: NodeJS.Timeout | undefined;

const now = new Date();
const ca = await issueCa(now);
const { cert, key } = await issueServing(ca, ['127.0.0.1'], now);
const server = createServer({ cert, key }, (request, response) => {
  answer(request, response)
    .catch((error: Error) => refusal(500, 'InternalError', error.message))
    .then((found) => {
      if (!found) return;
      response.writeHead(found.code, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(found.body),
        ...(found.code === TOO_MANY ? { 'retry-after': '1' } : {}),
      });
      response.end(found.body);
    });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `https://127.0.0.1:${port}`, ca: ca.cert } satisfies Started)}\n`);
});

interface Target {
  readonly collection: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

interface Answer {
  readonly code: number;
  /** JSON. */
  readonly body: string;
}

/** Undefined for a watch, which goes on. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'https://simulated');
  const content = await text(request);
  const body = content === '' ? undefined : JSON.parse(content);
  if (pathname.startsWith('/bench/')) return json(200, control(pathname.slice('/bench/'.length), body));

  const target = targetOf(pathname);
  const verb = query.get('watch') === 'true' ? 'watch' : (request.method ?? '').toLowerCase();
  response.once('close', () => {
    if (!request.headers['user-agent']?.startsWith('taintkeeper/')) return;
    const what = `${verb} ${target.resource} ${response.statusCode}`;
    requests[what] = (requests[what] ?? 0) + 1;
  });
  if (bucket && !bucket.take())
    return refusal(TOO_MANY, 'TooManyRequests', 'too many requests, please try again later');
  const review = REVIEWS[target.resource];
  if (review) return json(201, { status: review });
  if (!SERVED.has(target.collection)) return refusal(404, 'NotFound', 'the server could not find it');
  if (verb === 'watch') {
    watch(target, query, response);
    return undefined;
  }
  if (verb === 'get' && target.name === '') return list(target, query);
  if (target.collection === NODES) return answerNode(target, verb, body);
  return answerObject(target, verb, body, request.headers['content-type'] ?? '');
}

/** Of a path such as `/apis/apps/v1/namespaces/NAMESPACE/daemonsets/NAME/status`. */
function targetOf(pathname: string): Target {
  const parts = pathname.slice(1).split('/').map(decodeURIComponent);
  const prefix = parts.splice(0, parts[0] === 'api' ? 2 : 3);
  const [, namespace = ''] = parts[0] === 'namespaces' && parts.length > 2 ? parts.splice(0, 2) : [];
  const [resource = '', name = ''] = parts;
  return { collection: `/${[...prefix, resource].join('/')}`, resource, namespace, name };
}

/** Pages show what is there when they are asked for; what changed since the first comes again by the watch. */
function list({ collection, namespace }: Target, query: URLSearchParams): Answer {
  const [from = 0, revision = log.revision()] = query.get('continue')?.split('-').map(Number) ?? [];
  const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
  const limit = Number(query.get('limit') || Number.POSITIVE_INFINITY);
  const page = (all: number, item: (index: number) => string) => {
    const end = Math.min(all, from + limit);
    const items = Array.from({ length: end - from }, (_, n) => item(from + n));
    const rest = end < all ? `"continue":"${end}-${revision}",` : '';
    return {
      code: 200,
      body: `{"kind":"List","apiVersion":"v1","metadata":{${rest}"resourceVersion":"${revision}"},"items":[${items.join()}]}`,
    };
  };
  if (collection === NODES) return page(count, textOf);
  const objects = store
    .list(collection, namespace)
    .filter(({ metadata }) => name === undefined || metadata.name === name);
  return page(objects.length, (index) => JSON.stringify(objects[index]));
}

/** Sends what happens at the pace at which it is read. */
function watch({ collection, namespace }: Target, query: URLSearchParams, response: ServerResponse): void {
  const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
  const next = log.since(Number(query.get('resourceVersion')));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const pump = () => {
    while (!response.writableNeedDrain) {
      const event = next();
      if (!event) return;
      const isMeant =
        event.collection === collection &&
        (namespace === '' || event.namespace === namespace) &&
        (name === undefined || event.name === name);
      if (isMeant) response.write(`{"type":"${event.type}","object":${event.text()}}\n`);
    }
  };
  const bookmark = () => {
    const object = { metadata: { resourceVersion: String(log.revision()) } };
    if (!response.writableNeedDrain) response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  };
  const forget = log.onAdded(pump);
  response.on('drain', pump);
  const bookmarks = setInterval(bookmark, BOOKMARK_MS);
  const stop = () => {
    forget();
    response.off('drain', pump);
    clearInterval(bookmarks);
    clearTimeout(end);
  };
  const end = setTimeout(
    () => {
      stop();
      response.end();
    },
    1000 * Number(query.get('timeoutSeconds') || 300),
  );
  response.once('close', stop);
  pump();
}

interface NodePatch {
  readonly metadata?: { readonly resourceVersion?: string; readonly annotations?: Record<string, string | null> };
  readonly spec?: { readonly taints?: readonly Taint[] | null };
}

function answerNode({ name }: Target, verb: string, patch: NodePatch): Answer {
  const index = nodes.indexOf(name);
  const state = index === undefined ? undefined : states[index];
  if (index === undefined || !state) return notFound({ resource: 'nodes', name });
  if (verb === 'patch') {
    const { metadata: { resourceVersion, annotations } = {}, spec } = patch;
    if (isOutdated(resourceVersion, state.revision)) return conflict();
    const taints = spec?.taints === undefined ? state.taints : (spec.taints ?? []);
    const own = mergePatched(state.annotations, annotations ?? {}) as Record<string, string>;
    change(index, { taints, annotations: own });
  } else if (verb !== 'get') return refusal(405, 'MethodNotAllowed', verb);
  return { code: 200, body: textOf(index) };
}

function answerObject(target: Target, verb: string, body: object, type: string): Answer {
  const { collection, namespace } = target;
  if (verb === 'post') {
    const { name } = (body as { metadata: { name: string } }).metadata;
    // Nobody here reads Events.
    if (target.resource === 'events') return json(201, body);
    if (store.get(collection, namespace, name)) return refusal(409, 'AlreadyExists', `${name} already exists`);
    return json(201, store.put(collection, namespace, name, body));
  }
  const before = store.get(collection, namespace, target.name);
  if (!before) return notFound(target);
  if (verb === 'get') return json(200, before);
  if (verb === 'delete') {
    store.remove(collection, namespace, target.name);
    return json(200, before);
  }
  const patched = (type.includes('json-patch') ? jsonPatched : mergePatched) as (one: object, other: object) => object;
  const after = (verb === 'put' ? body : patched(before, body)) as Partial<typeof before>;
  if (isOutdated(after.metadata?.resourceVersion, Number(before.metadata.resourceVersion))) return conflict();
  return json(200, store.put(collection, namespace, target.name, after));
}

function isOutdated(resourceVersion: string | undefined, revision: number): boolean {
  return resourceVersion !== undefined && Number(resourceVersion) !== revision;
}

function control(what: string, body: Partial<Controls[keyof Controls]> & { perSecond?: number }): object {
  if (what === 'heartbeats') beat(body.perSecond ?? 0);
  if (what === 'limit') bucket = body.perSecond === undefined ? undefined : tokenBucket(BURST, 1000 / body.perSecond);
  if (what === 'wipe') for (let index = 0; index < count; index++) change(index, { taints: [] });
  if (what === 'recount') requests = {};
  const tainted = states.filter(({ taints }, index) =>
    taints.some(({ key }) => key === taintOf(index % pools).key),
  ).length;
  const statuses = POLICY_RESOURCES.flatMap((resource) => store.list(`${POLICY_API}/${resource}`, '')).filter(
    ({ status }) => status !== undefined,
  ).length;
  return { tainted, statuses, requests } satisfies SimulatedState;
}

function beat(perSecond: number): void {
  clearInterval(beating);
  let at = 0;
  let due = 0;
  beating = setInterval(() => {
    for (due += (perSecond * BEAT_MS) / 1000; due >= 1; due--) change(at++ % count, { beat: new Date().toISOString() });
  }, BEAT_MS);
}

function change(index: number, changes: Partial<Omit<NodeState, 'revision'>>): void {
  const state = { ...(states[index] as NodeState), ...changes, revision: log.revision() + 1 };
  states[index] = state;
  const text = () => nodes.text(index, state);
  log.add({ collection: NODES, namespace: '', name: nodes.nameOf(index), type: 'MODIFIED', text });
}

function textOf(index: number): string {
  return nodes.text(index, states[index] as NodeState);
}

/** One that tolerates some of the pools' taints, and runs on all nodes. */
function createDaemonSet(n: number): void {
  const labels = { app: `agent-${n}` };
  const tolerations = [{ key: taintOf(n % pools).key, operator: 'Exists' }];
  const containers = [{ name: 'agent', image: 'registry.example.com/agent' }];
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { tolerations, containers } },
  };
  const scheduled = { desiredNumberScheduled: count, updatedNumberScheduled: count, observedGeneration: 1 };
  store.put('/apis/apps/v1/daemonsets', 'kube-system', `agent-${n}`, { metadata: { labels }, spec, status: scheduled });
}

function conflict(): Answer {
  return refusal(409, 'Conflict', 'the object has been modified; please apply your changes to the latest version');
}

/** With the details by which a client tells an object that does not exist from a path that is not served. */
function notFound({ resource, name }: Pick<Target, 'resource' | 'name'>): Answer {
  return refusal(404, 'NotFound', `${resource} "${name}" not found`, { name, kind: resource });
}

function refusal(code: number, reason: string, message: string, details?: object): Answer {
  return json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details });
}

function json(code: number, body: object): Answer {
  return { code, body: JSON.stringify(body) };
}
