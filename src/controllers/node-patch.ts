import type { Entry } from '../cluster/watch/cached-objects.ts';
import { withTimeAdded } from '../policy/eviction-pace.ts';
import { REMEMBERED_ANNOTATION } from '../policy/memory.ts';
import { RESTORED_ANNOTATION } from '../policy/native/restored-annotation.ts';
import type { DesiredNode } from '../policy/node.ts';
import { RELEASE_ANNOTATION } from '../policy/release.ts';
import { REMOVED_ANNOTATION } from '../policy/removal.ts';
import type { ClusterNode } from './cluster-objects.ts';

/**
 * A merge patch of what changes. A list of taints can only be written whole: never over one that has not been seen.
 * @param now by the clock of the API server
 */
export function patchOf(
  { resourceVersion, value }: Entry<ClusterNode>,
  { taints, release, remembered, removed, restored }: DesiredNode,
  now: Date,
): object {
  const annotations = {
    ...(release === value.release ? {} : { [RELEASE_ANNOTATION]: release ?? null }),
    ...(remembered === value.remembered ? {} : { [REMEMBERED_ANNOTATION]: remembered ?? null }),
    ...(removed === value.removed ? {} : { [REMOVED_ANNOTATION]: removed ?? null }),
    ...(restored === value.restored ? {} : { [RESTORED_ANNOTATION]: restored ?? null }),
  };
  const spec = { taints: withTimeAdded(value.taints, taints, now) };
  return { metadata: { resourceVersion, annotations }, ...(taints === value.taints ? {} : { spec }) };
}
