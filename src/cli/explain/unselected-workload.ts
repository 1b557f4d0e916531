import type { ApiClient } from '../../cluster/client/api-client.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { isSettled, podStateOf } from '../../cluster/nodes/daemon-pods.ts';
import type { NamespacedName } from '../../explain/daemon-explained.ts';
import { InputError } from '../../files/input-error.ts';
import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { formatSelector } from '../../kubernetes/selector-overlap.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { pathOf, readObject } from './explained-object.ts';

/** Workloads that no policy selects, by their word on the command line. */
export const UNSELECTED_KINDS = ['deployment', 'statefulset', 'replicaset'] as const;
export type UnselectedKind = (typeof UNSELECTED_KINDS)[number];

/** How many pods a message names. */
const MAX_PODS = 5;

/** Names the pods that can be explained in place of a workload. @throws InputError always, ApiError */
export async function refuseUnselected(
  client: ApiClient,
  kind: UnselectedKind,
  { namespace, name }: NamespacedName,
): Promise<never> {
  const place = `${kind} ${namespace}/${name}`;
  const object = await readObject(client, pathOf(kind, { namespace, name }), place);
  const { spec } = object as { readonly spec: { readonly selector: LabelSelector } };
  const pods = await listObjects(
    client,
    namespacedPath('/api/v1', namespace, 'pods'),
    (pod) => ({
      name: `${namespace}/${(pod as { readonly metadata: { readonly name: string } }).metadata.name}`,
      isSettled: isSettled(podStateOf(pod)),
    }),
    { labelSelector: formatSelector(spec.selector) },
  );
  const [first, ...others] = pods
    .toSorted((a, b) => Number(a.isSettled) - Number(b.isSettled))
    .map((pod) => shellWord(pod.name));
  const refused = `explain ${place}: no policy is about a ${kind}`;
  if (first === undefined) {
    const describe = `kubectl describe -n ${shellWord(namespace)} ${kind} ${shellWord(name)}`;
    throw new InputError([`${refused}, and it has no pods to explain; see ${describe}`]);
  }
  const otherPods = others.length > 0 ? `; the others: ${atMost(MAX_PODS, others).join(', ')}` : '';
  throw new InputError([`${refused}; explain one of its pods: taintkeeper explain pod ${first}${otherPods}`]);
}
