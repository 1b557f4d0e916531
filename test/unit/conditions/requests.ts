import type { AdmissionRequest } from '../../../src/admission/review.ts';
import { isKubelet } from '../../../src/judge/node-view.ts';
import { daemonSetObject, type GeneratedObject, nodeObject, placeOf } from './objects.ts';
import { type DaemonSetState, edited, NEW_NODE, type NodeState, type Request } from './scenarios.ts';

/** What stands ready when a request is made. */
interface Ready {
  readonly nodes: readonly NodeState[];
  readonly daemonSets: readonly DaemonSetState[];
}

/** What an API server asks webhooks about a request of a scenario, as far as conditions and engine look at it. */
export function admissionRequest(generated: Request, ready: Ready): AdmissionRequest {
  const { user } = generated;
  return {
    uid: 'as-good-as-any',
    userInfo: { username: user.name, groups: [...user.groups, 'system:authenticated'] },
    ...subject(generated, ready),
  };
}

const NODES = { group: '', version: 'v1', resource: 'nodes' };
const DAEMON_SETS = { group: 'apps', version: 'v1', resource: 'daemonsets' };

function subject(generated: Request, { nodes, daemonSets }: Ready): Omit<AdmissionRequest, 'uid' | 'userInfo'> {
  switch (generated.what) {
    case 'node update': {
      const name = `n${generated.node + 1}`;
      const before = at(nodes, generated.node);
      const live = { metadata: { uid: `uid-of-${name}` }, spec: {} };
      const [object, oldObject] = [edited(before, generated.edit), before].map((state) =>
        stored(nodeObject(name, state, live)),
      );
      return { resource: NODES, name, operation: 'UPDATE', object, oldObject };
    }
    case 'node creation': {
      const object = stored(nodeObject(NEW_NODE, generated.state));
      return { resource: NODES, name: NEW_NODE, operation: 'CREATE', object, oldObject: null };
    }
    case 'DaemonSet update': {
      const { namespace, name } = placeOf(generated.place);
      const [object, oldObject] = [generated.state, at(daemonSets, generated.place)].map((state) =>
        stored(daemonSetObject(name, state)),
      );
      return { resource: DAEMON_SETS, namespace, name, operation: 'UPDATE', object, oldObject };
    }
    case 'DaemonSet creation': {
      const place = placeOf(generated.place);
      const name = `${place.name}-new`;
      const object = stored(daemonSetObject(name, generated.state));
      return {
        resource: DAEMON_SETS,
        namespace: place.namespace,
        name,
        operation: 'CREATE',
        object,
        oldObject: null,
      };
    }
  }
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing stands ready at ${index}`);
  return item;
}

/** As an API server hands it out: without what is empty. */
function stored(object: GeneratedObject): unknown {
  return JSON.parse(JSON.stringify(object), (_key, value: unknown) => {
    const isEmpty = value === '' || value === false || (Array.isArray(value) && value.length === 0);
    return isEmpty ? undefined : value;
  });
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

function taintsOf(object: unknown): unknown {
  return (object as GeneratedObject).spec.taints;
}
