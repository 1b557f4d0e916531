import type { AdmissionRequest } from '../../src/admission/review.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { daemonSetObject, type GeneratedObject, nodeObject, placeOf } from '../unit/conditions/objects.ts';
import {
  DAEMON_SET_PLACES,
  type DaemonSetState,
  edited,
  NEW_NODE,
  type NodeState,
  type Request,
} from '../unit/conditions/scenarios.ts';
import type { Call, EntryRig } from './match-conditions-rig.ts';

interface StoredObject extends GeneratedObject {
  readonly message?: string;
}

/** A request that was made, with dryRun, and what came of it. */
export interface Made {
  /** What the API server asks its webhooks, as far as the engine looks at it. */
  readonly request: AdmissionRequest;
  readonly answer: Answer<StoredObject>;
  readonly calls: readonly Call[];
}

const NODES = '/api/v1/nodes';
const daemonSets = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`;

/** Brings nodes and DaemonSets into the states, unseen by the webhooks. */
export async function prepare(
  cp: ControlPlane,
  nodes: readonly NodeState[],
  states: readonly DaemonSetState[],
): Promise<void> {
  for (const [index, state] of nodes.entries()) {
    const name = `n${index + 1}`;
    await store(cp, NODES, name, (live) => nodeObject(name, state, live));
  }
  for (const [index, { namespace, name }] of DAEMON_SET_PLACES.entries()) {
    const state = states[index];
    if (state) await store(cp, daemonSets(namespace), name, (live) => daemonSetObject(name, state, live));
  }
}

/**
 * Makes one request with dryRun. First the admin makes it, whom no webhook sees: so the object becomes known that the API
 * server would ask its webhooks about, with its defaults and what its own plugins do to it.
 *
 * @returns undefined for an object that the API server does not take
 */
export async function make(
  cp: ControlPlane,
  rig: Pick<EntryRig, 'takeCalls'>,
  generated: Request,
  nodes: readonly NodeState[],
): Promise<Made | undefined> {
  const { method, collection, name, object, oldObject } = await toRequest(cp, generated, nodes);
  const path = `${method === 'PUT' ? `${collection}/${name}` : collection}?dryRun=All`;
  const plain = await cp.request<StoredObject>(admin, method, path, { body: object });
  if (plain.status >= 400) return undefined;

  rig.takeCalls();
  const { user } = generated;
  const headers = { 'Impersonate-User': user.name, 'Impersonate-Group': user.groups };
  const answer = await cp.request<StoredObject>(admin, method, path, { body: object, headers });
  const calls = rig.takeCalls();
  const isNode = collection === NODES;
  return {
    request: {
      uid: 'as-good-as-any',
      resource: { group: isNode ? '' : 'apps', version: 'v1', resource: isNode ? 'nodes' : 'daemonsets' },
      ...(isNode ? {} : { namespace: String(plain.body.metadata.namespace) }),
      name,
      operation: method === 'PUT' ? 'UPDATE' : 'CREATE',
      userInfo: { username: user.name, groups: [...user.groups, 'system:authenticated'] },
      object: plain.body,
      oldObject: oldObject ?? null,
    },
    answer,
    calls,
  };
}

async function toRequest(cp: ControlPlane, generated: Request, nodes: readonly NodeState[]) {
  switch (generated.what) {
    case 'node update': {
      const name = `n${generated.node + 1}`;
      const before = nodes[generated.node];
      if (!before) throw new Error(`node ${name} does not stand ready`);
      const oldObject = (await cp.request<StoredObject>(admin, 'GET', `${NODES}/${name}`)).body;
      const object = nodeObject(name, edited(before, generated.edit), oldObject);
      return { method: 'PUT', collection: NODES, name, object, oldObject };
    }
    case 'node creation': {
      return { method: 'POST', collection: NODES, name: NEW_NODE, object: nodeObject(NEW_NODE, generated.state) };
    }
    case 'DaemonSet update': {
      const { namespace, name } = placeOf(generated.place);
      const collection = daemonSets(namespace);
      const oldObject = (await cp.request<StoredObject>(admin, 'GET', `${collection}/${name}`)).body;
      return { method: 'PUT', collection, name, object: daemonSetObject(name, generated.state, oldObject), oldObject };
    }
    case 'DaemonSet creation': {
      const place = placeOf(generated.place);
      const name = `${place.name}-new`;
      const object = daemonSetObject(name, generated.state);
      return { method: 'POST', collection: daemonSets(place.namespace), name, object };
    }
  }
}

async function store(
  cp: ControlPlane,
  collection: string,
  name: string,
  build: (live: StoredObject | undefined) => object,
): Promise<void> {
  const live = await cp.request<StoredObject>(admin, 'GET', `${collection}/${name}`);
  if (live.status === 404) {
    await mustPass(cp.request(admin, 'POST', collection, { body: build(undefined) }));
    // A node is given its not-ready taint when it is made.
    return store(cp, collection, name, build);
  }
  await mustPass(cp.request(admin, 'PUT', `${collection}/${name}`, { body: build(live.body) }));
}

async function mustPass(answer: Promise<Answer>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`not stored: ${JSON.stringify(body)}`);
}
