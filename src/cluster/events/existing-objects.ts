import { namespaceOf, type ObjectReference } from '../../kubernetes/event.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';
import { namespacedPath } from '../client/object-path.ts';
import { POLICY_KINDS, policiesPath } from '../policies/policy-paths.ts';

/** The paths of objects that Events are about. */
const COLLECTIONS: Readonly<Record<string, (namespace: string) => string>> = {
  Node: () => '/api/v1/nodes',
  DaemonSet: (namespace) => namespacedPath('/apis/apps/v1', namespace, 'daemonsets'),
  ...Object.fromEntries(POLICY_KINDS.map((kind) => [kind, () => policiesPath(kind)])),
};

/** The API server returns only the metadata: a Node has 30 to 60 KB. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** Events on an object and on its policies are written one after the other. */
const MAX_KEPT = 64;

/** An object as the API server has it. */
export interface ExistingObject {
  readonly uid: string;
  /** Milliseconds since the epoch, by the API server's clock. */
  readonly createdAt: number;
}

/** Reads objects by name, from the API server or from an earlier read. */
export interface ExistingObjects {
  /**
   * @param notBefore the minimum time of the answer, by the monotonic clock
   * @returns undefined if the object does not exist
   * @throws ApiError, Error
   */
  find(object: ObjectReference, notBefore: number, options: RequestOptions): Promise<ExistingObject | undefined>;
}

export function existingObjects(client: ApiClient): ExistingObjects {
  const answers = new Map<string, { readonly at: number; readonly found: ExistingObject | undefined }>();

  async function read(path: string, options: RequestOptions): Promise<ExistingObject | undefined> {
    const text = await findObject<string>(client, path, { ...options, accept: METADATA_ONLY });
    if (text === undefined) return undefined;
    const { metadata } = JSON.parse(text) as { metadata: { uid: string; creationTimestamp: string } };
    return { uid: metadata.uid, createdAt: Date.parse(metadata.creationTimestamp) };
  }

  return {
    async find(object, notBefore, options) {
      const collection = COLLECTIONS[object.kind];
      if (!collection) return undefined;
      const path = `${collection(namespaceOf(object))}/${encodeURIComponent(object.name)}`;
      const known = answers.get(path);
      if (known && known.at >= notBefore) return known.found;

      const at = performance.now();
      const found = await read(path, options);
      answers.delete(path);
      answers.set(path, { at, found });
      const [oldest] = answers.keys();
      if (answers.size > MAX_KEPT && oldest !== undefined) answers.delete(oldest);
      return found;
    },
  };
}
