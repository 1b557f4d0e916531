import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { lostTaints, type RecordedTaint } from '../../judge/node-record.ts';
import { type Arrival, arrivals } from '../../judge/rulings.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { isTransientTaintKey } from '../../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { oncePer } from '../../runtime/once-per.ts';
import type { ClusterNode } from '../sources.ts';

/** Taints of one node whose time is taken; a node that carries more has those looked at first that stand first. */
const MAX_FOLLOWED = 256;

/**
 * For how long nodes have carried their taints while they were Ready, as this leader has seen it. The next one begins anew: that only
 * makes it later for taints that no record lists yet.
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
      const { ready, taints } = value;
      const followed = ready ? taints.filter(({ key }) => !isTransientTaintKey(key)).slice(0, MAX_FOLLOWED) : [];
      if (followed.length === 0) {
        nodes.delete(name);
        return;
      }
      const known = nodes.get(name);
      const before = known?.uid === uid ? known.since : undefined;
      const since = followed.map((taint) => {
        const text = formatTaint(taint);
        return [text, before?.get(text) ?? now()] as const;
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

/** The API servers may need as long to learn which requests to ask about: what comes before is not held against anybody. */
export const GUARD_GRACE_MS = 60_000;

/**
 * Which guarded taints nodes carried when this leader first saw them under a guard, and which have come since. The next leader begins
 * anew, and takes what it finds for granted. What a kubelet writes on its node has no part in it.
 */
export interface TaintArrivals {
  /** The guarded taints that came while nobody was asked, since they were last {@link accept}ed. */
  find(node: Entry<ClusterNode>, policies: readonly CompiledTaintPolicy[], isContested: IsContested): Arrival[];
  /**
   * Takes for granted what the node carries, but what is taken out.
   * @param recorded what the record of the node lists: taints of it that the node lacks may come back
   */
  accept(
    node: Entry<ClusterNode>,
    policies: readonly CompiledTaintPolicy[],
    found: readonly Arrival[],
    recorded: readonly RecordedTaint[],
  ): void;
  gone(name: string): void;
}

type IsContested = (taint: Taint) => boolean;

interface Guarded {
  /** Since when this guard is seen to be for the node. */
  readonly since: number;
  readonly taints: ReadonlySet<string>;
}

/** The same as long as the policy guards the same against the same. */
const guardOf = oncePer(({ name, mode, nodeSelector, exempt, additionRules }: CompiledTaintPolicy) =>
  JSON.stringify([name, mode, nodeSelector, exempt, additionRules]),
);

export function trackTaintArrivals(now: () => number = () => performance.now()): TaintArrivals {
  /** Of each node, by the guard. */
  const nodes = new Map<string, { readonly uid: string; readonly guards: ReadonlyMap<string, Guarded> }>();
  const guardsOn = ({ name, uid }: Entry<ClusterNode>) => {
    const known = nodes.get(name);
    return known?.uid === uid ? known.guards : undefined;
  };

  return {
    find(node, policies, isContested) {
      const guards = guardsOn(node);
      if (guards === undefined) return [];
      return arrivals(node.value, policies, {
        isContested,
        cameUnder(policy, taint) {
          const guard = guards.get(guardOf(policy));
          if (guard === undefined || now() - guard.since < GUARD_GRACE_MS) return false;
          return !guard.taints.has(formatTaint(taint));
        },
      });
    },
    accept(node, policies, found, recorded) {
      const before = guardsOn(node);
      const guarding = policies.filter(
        ({ mode, additionRules, selectsNode }) =>
          additionRules.length > 0 && mode !== 'Audit' && selectsNode(node.value.labels),
      );
      if (guarding.length === 0) {
        nodes.delete(node.name);
        return;
      }
      const takenOut = new Set(found.filter(({ hindrance }) => hindrance === undefined).map(({ taint }) => taint));
      const carried = [
        ...node.value.taints.filter((taint) => !takenOut.has(taint)),
        ...lostTaints(recorded, node.value.taints),
      ];
      const guards = guarding.map((policy): [string, Guarded] => {
        const guard = guardOf(policy);
        const taints = carried.filter((taint) => policy.additionRestrictedBy(taint) !== undefined);
        return [guard, { since: before?.get(guard)?.since ?? now(), taints: new Set(taints.map(formatTaint)) }];
      });
      nodes.set(node.name, { uid: node.uid, guards: new Map(guards) });
    },
    gone: (name) => void nodes.delete(name),
  };
}
