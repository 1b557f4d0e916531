import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { withTimeAdded } from '../../evictions/eviction-pace.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../judge/allow-removal.ts';
import type { DesiredNode } from '../../judge/node-view.ts';

/**
 * A merge patch of what changes. A list of taints can only be written whole: never over one that has not been seen.
 * @param now by the clock of the API server
 */
export function patchOf(
  { resourceVersion, value }: Entry<ClusterNode>,
  { taints, allowRemoval }: DesiredNode,
  now: Date,
): object {
  const annotations = allowRemoval === value.allowRemoval ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval ?? null };
  const spec = { taints: withTimeAdded(value.taints, taints, now) };
  return { metadata: { resourceVersion, annotations }, ...(taints === value.taints ? {} : { spec }) };
}
