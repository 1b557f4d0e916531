import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { withTimeAdded } from '../../evictions/eviction-pace.ts';
import { type IdleMemory, REMEMBERED_ANNOTATION } from '../../judge/memory.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import { RESTORED_ANNOTATION } from '../../judge/node-view.ts';
import { ALLOW_REMOVAL_ANNOTATION, REMOVED_ANNOTATION } from '../../judge/removal.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import type { ClusterNode } from '../sources.ts';

/** Whoever deletes a policy and creates it anew, as GitOps and installations do, is done by then. */
export const FORGET_CARRIED_MS = 3_600_000;
/** So is one command that replaces a policy: what its nodes lacked is not accepted by that. A taint that goes is to stay away. */
export const FORGET_GONE_MS = 10_000;

type NodeIdentity = Pick<Entry<unknown>, 'name' | 'uid'>;

/** Since when nodes remember what they do for nobody, by the monotonic clock of this leader: another one begins anew. */
export interface IdleMemories {
  /** These are all of the node's at present. */
  seen(node: NodeIdentity, memories: readonly IdleMemory[]): void;
  /** Whether it was seen each time for long enough to be forgotten. */
  isOver(node: NodeIdentity, memory: IdleMemory): boolean;
  /** In how many milliseconds a taint that is gone may be forgotten; what is carried has time until the next sweep. */
  nextLookMs(node: NodeIdentity): number | undefined;
  /** The node is gone. */
  gone(name: string): void;
}

interface Since {
  readonly at: number;
  readonly isCarried: boolean;
  /** Whoever asked was told that it may be forgotten. */
  isOver: boolean;
}

export function trackIdleMemories(): IdleMemories {
  const known = new Map<string, { readonly uid: string; readonly memories: ReadonlyMap<string, Since> }>();
  const sinceOf = ({ name, uid }: NodeIdentity, { taint, isCarried }: IdleMemory) => {
    const found = known.get(name);
    const since = found?.uid === uid ? found.memories.get(formatTaint(taint)) : undefined;
    return since?.isCarried === isCarried ? since : undefined;
  };
  return {
    seen(node, memories) {
      const at = performance.now();
      const now = memories.map((memory): [string, Since] => [
        formatTaint(memory.taint),
        sinceOf(node, memory) ?? { at, isCarried: memory.isCarried, isOver: false },
      ]);
      if (now.length === 0) known.delete(node.name);
      else known.set(node.name, { uid: node.uid, memories: new Map(now) });
    },
    isOver(node, memory) {
      const since = sinceOf(node, memory);
      if (!since) return false;
      since.isOver ||= performance.now() - since.at >= (memory.isCarried ? FORGET_CARRIED_MS : FORGET_GONE_MS);
      return since.isOver;
    },
    nextLookMs({ name, uid }) {
      const found = known.get(name);
      if (found?.uid !== uid) return undefined;
      // One that is over and still there is not written, as with --audit: that is for the next sweep.
      const gone = [...found.memories.values()].filter(({ isCarried, isOver }) => !isCarried && !isOver);
      if (gone.length === 0) return undefined;
      return Math.max(1, Math.min(...gone.map(({ at }) => at)) + FORGET_GONE_MS - performance.now());
    },
    gone: (name) => void known.delete(name),
  };
}

/**
 * A merge patch of what changes. A list of taints can only be written whole: never over one that has not been seen.
 * @param now by the clock of the API server
 */
export function patchOf(
  { resourceVersion, value }: Entry<ClusterNode>,
  { taints, allowRemoval, remembered, removed, restored }: DesiredNode,
  now: Date,
): object {
  const annotations = {
    ...(allowRemoval === value.allowRemoval ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval ?? null }),
    ...(remembered === value.remembered ? {} : { [REMEMBERED_ANNOTATION]: remembered ?? null }),
    ...(removed === value.removed ? {} : { [REMOVED_ANNOTATION]: removed ?? null }),
    ...(restored === value.restored ? {} : { [RESTORED_ANNOTATION]: restored ?? null }),
  };
  const spec = { taints: withTimeAdded(value.taints, taints, now) };
  return { metadata: { resourceVersion, annotations }, ...(taints === value.taints ? {} : { spec }) };
}
