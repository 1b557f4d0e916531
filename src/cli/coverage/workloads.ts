import type { ApiClient } from '../../cluster/client/api-client.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { WORKLOAD_KINDS, type Workload, type WorkloadKind } from '../../coverage/workload.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { isKind, readNamed } from '../../files/kubernetes-objects.ts';
import { isPattern } from '../../kubernetes/pattern.ts';
import { viewWorkload, WORKLOAD_API_VERSIONS } from '../../objects/workload-object.ts';
import type { Path } from '../../policy/problem.ts';

/**
 * The workload that an object of a file is, if it is one.
 * @param namespace of objects that name none
 * @throws InputError
 */
export function readWorkload(
  document: SourceDocument,
  object: Parameters<typeof isKind>[0],
  path: Path,
  namespace: string,
): Workload | undefined {
  const kind = WORKLOAD_KINDS.find((one) => isKind(object, WORKLOAD_API_VERSIONS[one], one));
  return kind && readNamed(document, path, () => viewWorkload(kind, object, path, namespace));
}

/**
 * The workloads of the cluster.
 * @param namespaces names, or patterns of them; none: all
 * @throws ApiError, MalformedObjectError
 */
export async function listWorkloads(
  client: ApiClient,
  kinds: readonly WorkloadKind[],
  namespaces: readonly string[] = [],
): Promise<Workload[]> {
  const lists = kinds.flatMap((kind) =>
    pathsOf(WORKLOAD_API_VERSIONS[kind], `${kind.toLowerCase()}s`, namespaces).map((path) =>
      listObjects(client, path, (object) => viewWorkload(kind, object, [], '')),
    ),
  );
  return (await Promise.all(lists)).flat();
}

/** The lists of a resource in these namespaces; in all of them if there are none, or patterns. */
export function pathsOf(apiVersion: string, resource: string, namespaces: readonly string[]): string[] {
  if (namespaces.length === 0 || namespaces.some(isPattern)) return [`/apis/${apiVersion}/${resource}`];
  return [...new Set(namespaces)].map((namespace) => namespacedPath(`/apis/${apiVersion}`, namespace, resource));
}
