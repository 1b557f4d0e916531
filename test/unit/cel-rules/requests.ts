import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { isKubelet } from '../../../src/judge/request/node-request.ts';
import type { WebhookOperation } from '../../../src/webhooks/webhook-entry.ts';
import { daemonSetObject, type GeneratedObject, nodeObject, taintsOf } from './objects.ts';
import { DAEMON_SET_PLACES, type DaemonSetState, edited, NEW_NODE, type NodeState, type Request } from './scenarios.ts';

/** The object that a request is about. */
export interface Target {
  readonly operation: WebhookOperation;
  /** Absent for a node. */
  readonly namespace?: string;
  /** Empty while the API server has not made it. */
  readonly name: string;
}

export function targetOf(generated: Request): Target {
  switch (generated.what) {
    case 'node update':
      return { operation: 'UPDATE', name: `n${generated.node + 1}` };
    case 'node creation':
      return { operation: 'CREATE', name: NEW_NODE };
    case 'DaemonSet update':
      return { operation: 'UPDATE', ...at(DAEMON_SET_PLACES, generated.place) };
    case 'DaemonSet creation': {
      const { namespace, name } = at(DAEMON_SET_PLACES, generated.place);
      return { operation: 'CREATE', namespace, name: generated.generateName ? '' : `${name}-new` };
    }
  }
}

/**
 * The object as it is sent.
 * @param nodes their states before
 * @param live the object before an update
 */
export function sentObject(generated: Request, nodes: readonly NodeState[], live?: GeneratedObject): GeneratedObject {
  const { name } = targetOf(generated);
  switch (generated.what) {
    case 'node update':
      return nodeObject(name, edited(at(nodes, generated.node), generated.edit), live);
    case 'node creation':
      return nodeObject(name, generated.state);
    case 'DaemonSet update':
      return daemonSetObject({ name }, generated.state, live);
    case 'DaemonSet creation': {
      const generateName = `${at(DAEMON_SET_PLACES, generated.place).name}-`;
      return daemonSetObject(generated.generateName ? { generateName } : { name }, generated.state);
    }
  }
}

/** What an API server asks webhooks about the request, as far as conditions and engine look at it. */
export function admissionRequest(
  generated: Request,
  { object, oldObject = null }: { readonly object: unknown; readonly oldObject?: unknown },
): AdmissionRequest {
  const { user } = generated;
  const target = targetOf(generated);
  const isNode = target.namespace === undefined;
  return {
    uid: 'as-good-as-any',
    resource: { group: isNode ? '' : 'apps', version: 'v1', resource: isNode ? 'nodes' : 'daemonsets' },
    ...target,
    userInfo: { username: user.name, groups: [...user.groups, 'system:authenticated'] },
    object,
    oldObject,
  };
}

/** The same without an API server, which would add defaults. */
export function unseenRequest(
  generated: Request,
  { nodes, daemonSets }: { readonly nodes: readonly NodeState[]; readonly daemonSets: readonly DaemonSetState[] },
): AdmissionRequest {
  const live = liveObject(generated, nodes, daemonSets);
  return admissionRequest(generated, {
    object: stored(sentObject(generated, nodes, live)),
    oldObject: live && stored(live),
  });
}

/** The object before an update. */
function liveObject(generated: Request, nodes: readonly NodeState[], daemonSets: readonly DaemonSetState[]) {
  const { name } = targetOf(generated);
  const unnamed = { metadata: { uid: `uid-of-${name}` }, spec: {} };
  if (generated.what === 'node update') return nodeObject(name, at(nodes, generated.node), unnamed);
  if (generated.what === 'DaemonSet update') return daemonSetObject({ name }, at(daemonSets, generated.place), unnamed);
  return undefined;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing stands ready at ${index}`);
  return item;
}

/** As an API server hands it out: without the empty fields of the spec. Labels and annotations may be empty. */
function stored({ metadata, spec }: GeneratedObject): unknown {
  const written = JSON.parse(JSON.stringify(spec), (_key, value: unknown) => {
    const isEmpty = value === '' || value === false || (Array.isArray(value) && value.length === 0);
    return isEmpty ? undefined : value;
  });
  return { metadata: JSON.parse(JSON.stringify(metadata)), spec: written };
}

/** Whether NodeRestriction refuses it: a node changes another node, taints, or something else than nodes. No condition needs to be exact there. */
export function isRefusedByNodeRestriction({
  name = '',
  resource,
  object,
  oldObject,
  userInfo: { username = '', groups },
}: AdmissionRequest): boolean {
  if (!isKubelet({ username, groups: groups ?? [] })) return false;
  if (resource.resource !== 'nodes' || username !== `system:node:${name}`) return true;
  return Boolean(oldObject) && JSON.stringify(taintsOf(object)) !== JSON.stringify(taintsOf(oldObject));
}
