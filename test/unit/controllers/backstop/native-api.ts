import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { absent } from '../../cluster/client/absent.ts';

interface Stored {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** As much of an API server as native policies need, and what was asked of it. */
export interface NativeApi {
  readonly client: ApiClient;
  /** By `resource/name`. */
  readonly stored: Map<string, Stored>;
  /** Changes that were made: `POST validatingadmissionpolicies/NAME`. */
  readonly writes: string[];
  /** Asked before every request: what it throws is the answer. */
  refuse: (method: string, path: string) => void;
  clusterRoleUid: string;
}

const GROUP = '/apis/admissionregistration.k8s.io/';
const KINDS = ['mutating', 'validating'];

/** @param served the resources of each version that the API server knows, `mutating` and `validating` */
export function nativeApi(served: Readonly<Record<string, readonly string[]>> = { v1: KINDS }): NativeApi {
  const stored = new Map<string, Stored>();
  const writes: string[] = [];
  let version = 0;
  const api: NativeApi = {
    client: {
      request: async (method: string, path: string, options?: RequestOptions) => answer(method, path, options),
    } as ApiClient,
    stored,
    writes,
    refuse: () => {},
    clusterRoleUid: 'role',
  };
  return api;

  function answer(method: string, path: string, { body, query }: RequestOptions = {}): unknown {
    const fail = (status: number, reason: string) => new ApiError(method, path, status, reason, '');
    api.refuse(method, path);
    if (path.startsWith('/apis/rbac.authorization.k8s.io/')) {
      return { metadata: { name: 'taintkeeper', uid: api.clusterRoleUid } };
    }
    const [group = '', resource, name] = path.slice(GROUP.length).split('/');
    const known = (served[group] ?? []).flatMap((kind) => [
      `${kind}admissionpolicies`,
      `${kind}admissionpolicybindings`,
    ]);
    if (resource === undefined) {
      if (!(group in served)) throw fail(404, '');
      return { resources: known.map((one) => ({ name: one })) };
    }
    if (!known.includes(resource)) throw fail(404, '');
    const given = structuredClone(JSON.parse(JSON.stringify(body ?? {}))) as Stored;
    const key = `${resource}/${name ?? given.metadata?.name}`;
    const present = stored.get(key);
    if (method === 'GET' && name === undefined) {
      const [label = '', value] = String(query?.labelSelector).split('=');
      const items = [...stored].filter(([one]) => one.startsWith(`${resource}/`)).map(([, object]) => object);
      return {
        metadata: { resourceVersion: '1' },
        items: items.filter(({ metadata }) => metadata.labels?.[label] === value),
      };
    }
    if (method === 'POST' && present) throw fail(409, 'AlreadyExists');
    if (method !== 'POST' && !present) throw absent(method, path);
    if (method === 'GET') return present;
    writes.push(`${method} ${key}`);
    if (method === 'DELETE') {
      stored.delete(key);
      return {};
    }
    if (method === 'PUT' && given.metadata.resourceVersion !== present?.metadata.resourceVersion)
      throw fail(409, 'Conflict');
    version++;
    const uid = present?.metadata.uid ?? `uid-${version}`;
    const object = {
      ...given,
      metadata: { ...given.metadata, uid, resourceVersion: `${version}`, generation: version },
    };
    stored.set(key, object);
    return object;
  }
}
