import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { refuseConfigMap } from './refuse-config-map.ts';
import { admin } from './users.ts';
import { waitUntil } from './wait-until.ts';

/** How long the API server may take to finish the deletions, of which the slowest is that of a CustomResourceDefinition. */
const EMPTY_TIMEOUT_MS = 20_000;

/** Written by the API server itself, at any time. */
const CHANGES_BY_ITSELF = new Set([
  'apiservices',
  'componentstatuses',
  'endpoints',
  'endpointslices',
  'events',
  'flowschemas',
  'ipaddresses',
  'leases',
  'prioritylevelconfigurations',
  'servicecidrs',
]);

const POLICIES = 'validatingadmissionpolicies';
/** First what stands before requests. */
const FIRST = [
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  POLICIES,
  'validatingadmissionpolicybindings',
];
/** How long the API server enforces one after its deletion is not known here. */
const NOT_REMOVED = 'mutatingadmissionpolicies';

/** A control plane, and what it had when it was new. */
interface Shared {
  readonly cp: ControlPlane;
  readonly baseline: ReadonlyMap<string, string>;
}

/** The one that no file of this worker uses at present. It ends with the worker. */
let idle: Shared | undefined;

/** A control plane for one file, which gives it back in the end. */
export interface Borrowed {
  readonly cp: ControlPlane;
  /** Removes what the file has left, for the next one. After a failure, or a fault made on purpose, the control plane ends instead. */
  giveBack(failed: boolean): Promise<void>;
}

/** The control plane that an earlier file of this worker has given back, or a new one: etcd and an API server, without options. */
export async function borrowControlPlane(): Promise<Borrowed> {
  const shared = idle ?? (await startShared());
  idle = undefined;
  const { cp } = shared;
  const earlier = cp.auditLog().length;
  let harmed = false;
  const harming = <Fault extends (...args: never[]) => unknown>(fault: Fault) =>
    ((...args) => {
      harmed = true;
      return fault(...args);
    }) as Fault;
  return {
    cp: {
      ...cp,
      auditLog: () => cp.auditLog().slice(earlier),
      stopComponent: harming(cp.stopComponent),
      restartComponent: harming(cp.restartComponent),
      compactEtcd: harming(cp.compactEtcd),
      backUpEtcd: harming(cp.backUpEtcd),
    },
    async giveBack(failed) {
      if (!failed && !harmed && (await restore(shared))) idle = shared;
      else await cp.stop();
    },
  };
}

async function startShared(): Promise<Shared> {
  const cp = await startControlPlane();
  const objects = await listObjects(cp);
  return { cp, baseline: new Map(objects.map(({ path, version }) => [path, version])) };
}

/** A stored object that can be deleted. */
interface StoredObject {
  readonly resource: string;
  /** Its URL, without the server. */
  readonly path: string;
  readonly version: string;
}

/** Whether the API server has again what it had when it was new, and nothing else. */
async function restore({ cp, baseline }: Shared): Promise<boolean> {
  const objects = await listObjects(cp);
  const isChanged = ({ resource, path, version }: StoredObject) =>
    !CHANGES_BY_ITSELF.has(resource) && baseline.get(path) !== version;
  if (objects.some((object) => baseline.has(object.path) && isChanged(object))) return false;
  const added = objects.filter(({ resource, path }) => !baseline.has(path) && resource !== 'apiservices');
  if (added.some(({ resource }) => resource === NOT_REMOVED)) return false;

  const [first = [], others = []] = [true, false].map((isFirst) =>
    added.filter(({ resource }) => FIRST.includes(resource) === isFirst),
  );
  const definitions = added.filter(({ resource }) => resource === 'customresourcedefinitions');
  try {
    await Promise.all(first.map(({ path }) => remove(cp, path)));
    if (first.some(({ resource }) => resource === POLICIES)) await areNotEnforced(cp);
    await Promise.all(others.map(({ path }) => remove(cp, path)));
    for (const { resource, path } of added) if (resource === 'namespaces') await finalizeNamespace(cp, path);
    await waitUntil(
      async () => {
        const left = (await listObjects(cp)).filter(
          ({ resource, path }) => !baseline.has(path) && !CHANGES_BY_ITSELF.has(resource),
        );
        return left.length === 0 && (await areUnserved(cp, definitions)) ? true : undefined;
      },
      { timeoutMs: EMPTY_TIMEOUT_MS, otherwise: () => 'not empty' },
    );
    return true;
  } catch {
    return false;
  }
}

/**
 * Waits until deleted ValidatingAdmissionPolicies are no longer enforced. The API server compiles all of them at once, up to a second after a
 * change: when it enforces one that was created later, it has forgotten those that were deleted.
 */
async function areNotEnforced(cp: ControlPlane): Promise<void> {
  const paths = await refuseConfigMap(cp, 'shared-control-plane');
  await Promise.all(paths.map((path) => remove(cp, path)));
}

async function remove(cp: ControlPlane, path: string): Promise<void> {
  const body = { propagationPolicy: 'Background', gracePeriodSeconds: 0 };
  await cp.request(admin, 'DELETE', path, { body });
}

/** As the namespace controller does, which does not run here. */
async function finalizeNamespace(cp: ControlPlane, path: string): Promise<void> {
  const { status, body } = await cp.request<object>(admin, 'GET', path);
  if (status === 200) {
    await cp.request(admin, 'PUT', `${path}/finalize`, { body: { ...body, spec: { finalizers: [] } } });
  }
}

/** A definition's objects are served for a moment longer than the definition. */
async function areUnserved(cp: ControlPlane, definitions: readonly StoredObject[]): Promise<boolean> {
  const groups = await listResources(cp);
  return definitions.every(({ path }) => {
    const [resource, ...group] = (path.split('/').at(-1) ?? '').split('.');
    return !groups.some((one) => one.resource === resource && one.collection.startsWith(`/apis/${group.join('.')}/`));
  });
}

interface Resource {
  readonly resource: string;
  readonly namespaced: boolean;
  /** Where all its objects are listed, of all namespaces. */
  readonly collection: string;
}

interface Discovery {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope: 'Cluster' | 'Namespaced';
        readonly verbs: readonly string[];
      }[];
    }[];
  }[];
}

/** All resources that can be listed and deleted, each in its preferred version. */
async function listResources(cp: ControlPlane): Promise<Resource[]> {
  const headers = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
  const answers = await Promise.all(
    ['/api', '/apis'].map((path) => cp.request<Discovery>(admin, 'GET', path, { headers })),
  );
  return answers
    .flatMap(({ body }) => body.items)
    .flatMap(({ metadata, versions: [preferred] }) => {
      const group = metadata?.name;
      const root = group ? `/apis/${group}` : '/api';
      return (preferred?.resources ?? [])
        .filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete'))
        .map(({ resource, scope }) => ({
          resource,
          namespaced: scope === 'Namespaced',
          collection: `${root}/${preferred?.version}/${resource}`,
        }));
    });
}

interface List {
  readonly items?: readonly {
    readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
  }[];
}

async function listObjects(cp: ControlPlane): Promise<StoredObject[]> {
  const lists = await Promise.all(
    (await listResources(cp)).map(async ({ resource, namespaced, collection }) => {
      const { body } = await cp.request<List>(admin, 'GET', collection);
      const at = collection.lastIndexOf('/');
      return (body.items ?? []).map(({ metadata: { name, namespace, resourceVersion } }): StoredObject => {
        const folder = namespaced ? `${collection.slice(0, at)}/namespaces/${namespace}/${resource}` : collection;
        return { resource, path: `${folder}/${name}`, version: resourceVersion };
      });
    }),
  );
  return lists.flat();
}
