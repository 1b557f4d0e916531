import type { Entry } from '../cluster/watch/cached-objects.ts';
import type { IdleMemory } from '../policy/memory.ts';
import { formatTaint } from '../policy/taint.ts';

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
        sinceOf(node, memory) ?? { at, isCarried: memory.isCarried },
      ]);
      if (now.length === 0) known.delete(node.name);
      else known.set(node.name, { uid: node.uid, memories: new Map(now) });
    },
    isOver(node, memory) {
      const since = sinceOf(node, memory);
      return (
        since !== undefined && performance.now() - since.at >= (memory.isCarried ? FORGET_CARRIED_MS : FORGET_GONE_MS)
      );
    },
    nextLookMs({ name, uid }) {
      const found = known.get(name);
      if (found?.uid !== uid) return undefined;
      const gone = [...found.memories.values()].filter(({ isCarried }) => !isCarried);
      if (gone.length === 0) return undefined;
      return Math.max(1, Math.min(...gone.map(({ at }) => at)) + FORGET_GONE_MS - performance.now());
    },
    gone: (name) => void known.delete(name),
  };
}
