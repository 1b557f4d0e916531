import type { AdmissionRequest } from '../../src/admission/admission-review.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type Answer, succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { daemonSetObject, type GeneratedObject, nodeObject } from '../unit/cel-rules/objects.ts';
import { admissionRequest, sentObject, targetOf } from '../unit/cel-rules/requests.ts';
import { DAEMON_SET_PLACES, type DaemonSetState, type NodeState, type Request } from '../unit/cel-rules/scenarios.ts';
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
    if (state) await store(cp, daemonSets(namespace), name, (live) => daemonSetObject({ name }, state, live));
  }
}

const NO_WEBHOOKS = { takeCalls: () => [] };

/**
 * Makes one request with dryRun. First the admin makes it, whom no webhook sees: so the object becomes known that the API
 * server would ask its webhooks about, with its defaults and what its own plugins do to it.
 *
 * @returns undefined for an object that the API server does not take
 */
export async function make(
  cp: ControlPlane,
  generated: Request,
  nodes: readonly NodeState[],
  rig: Pick<EntryRig, 'takeCalls'> = NO_WEBHOOKS,
): Promise<Made | undefined> {
  const { operation, namespace, name } = targetOf(generated);
  const collection = namespace === undefined ? NODES : daemonSets(namespace);
  const path = `${collection}/${name}`;
  const oldObject = operation === 'UPDATE' ? (await cp.request<StoredObject>(admin, 'GET', path)).body : undefined;
  const body = sentObject(generated, nodes, oldObject);
  const send = (headers: Readonly<Record<string, string | readonly string[]>> = {}) =>
    cp.request<StoredObject>(
      admin,
      operation === 'UPDATE' ? 'PUT' : 'POST',
      `${operation === 'UPDATE' ? path : collection}?dryRun=All`,
      { body, headers },
    );
  const plain = await send();
  if (plain.status >= 400) return undefined;

  rig.takeCalls();
  const { user } = generated;
  const answer = await send({ 'Impersonate-User': user.name, 'Impersonate-Group': user.groups });
  const calls = rig.takeCalls();
  const object = 'generateName' in body.metadata ? unnamed(plain.body) : plain.body;
  return { request: admissionRequest(generated, { object, oldObject }), answer, calls };
}

/** As in admission: the name is made afterwards. */
function unnamed(object: StoredObject): StoredObject {
  const { name: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

async function store(
  cp: ControlPlane,
  collection: string,
  name: string,
  build: (live: StoredObject | undefined) => object,
): Promise<void> {
  const live = await cp.request<StoredObject>(admin, 'GET', `${collection}/${name}`);
  if (live.status === 404) {
    await succeeded(cp.request(admin, 'POST', collection, { body: build(undefined) }));
    // A node is given its not-ready taint when it is made.
    return store(cp, collection, name, build);
  }
  await succeeded(cp.request(admin, 'PUT', `${collection}/${name}`, { body: build(live.body) }));
}
