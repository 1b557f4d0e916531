import type { Entry } from '../cluster/watch/cached-objects.ts';
import { settledOn } from '../policy/memory.ts';
import { formatTaint, type Taint } from '../policy/taint.ts';
import { isTransientTaintKey } from '../policy/transient-taints.ts';
import type { ClusterNode } from './cluster-objects.ts';

/** Taints of one node whose time is taken; a node that carries more has those looked at first that stand first. */
const MAX_FOLLOWED = 256;

/**
 * For how long nodes have carried their taints while they were Ready, as this leader has seen it. The next one begins anew: that only
 * makes it later. What a node's memory has, it has carried for long enough.
 */
export interface TaintStays {
  /** Takes notice of a node as it is now. */
  look(node: Entry<ClusterNode>): void;
  gone(name: string): void;
  /** In milliseconds; undefined for a taint that the node does not carry, or while it is not Ready. */
  stayedMs(name: string, taint: Taint): number | undefined;
}

export function trackTaintStays(now: () => number = () => performance.now()): TaintStays {
  /** Of each node, since when it carries which taint. */
  const nodes = new Map<string, { readonly uid: string; readonly since: ReadonlyMap<string, number> }>();

  return {
    look({ name, uid, value }) {
      const { ready, taints, remembered } = value;
      const followed = ready ? taints.filter(({ key }) => !isTransientTaintKey(key)).slice(0, MAX_FOLLOWED) : [];
      if (followed.length === 0) {
        nodes.delete(name);
        return;
      }
      const known = nodes.get(name);
      const before = known?.uid === uid ? known.since : undefined;
      const isSettled = settledOn(remembered);
      const since = followed.map((taint) => {
        const text = formatTaint(taint);
        return [text, before?.get(text) ?? (isSettled(taint) ? Number.NEGATIVE_INFINITY : now())] as const;
      });
      nodes.set(name, { uid, since: new Map(since) });
    },
    gone: (name) => nodes.delete(name),
    stayedMs(name, taint) {
      const since = nodes.get(name)?.since.get(formatTaint(taint));
      return since === undefined ? undefined : now() - since;
    },
  };
}
