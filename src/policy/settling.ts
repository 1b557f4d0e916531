import { holdOn, NONE_SETTLED, parseRemembered, protectionOn, settledOn } from './memory.ts';
import type { NodeView } from './node.ts';
import type { CompiledTaintPolicy } from './policy-set.ts';
import { identity, type Taint, valuesOf } from './taint.ts';

/** Which taints of a node a key with a wildcard protects from now on, and which it does not yet. */
export interface Settling {
  /** Whether a taint that is not in the node's memory is to be there. */
  isSettled(taint: Taint): boolean;
  /** In how many milliseconds the next one has stayed long enough. */
  readonly settlesInMs: number | undefined;
  /** Those that have settled, and are not in this memory. */
  unlisted(remembered: string | undefined): Taint[];
}

/**
 * A taint has settled once it has stayed for as long as one of the policies says that mean it by a wildcard: what comes and goes while
 * a node starts has gone by then.
 *
 * @param policies those that are for the node
 */
export function settling(
  node: Pick<NodeView, 'labels' | 'taints' | 'remembered'>,
  policies: readonly CompiledTaintPolicy[],
  stayedMs: (taint: Taint) => number | undefined,
): Settling {
  const waiting = policies.filter(({ mode, settleMs }) => mode !== 'Audit' && settleMs > 0);
  const leftMs = (taint: Taint): number | undefined => {
    const stayed = stayedMs(taint);
    const meaning = waiting.filter((policy) => policy.protectedBy(taint) !== undefined);
    if (stayed === undefined || meaning.length === 0) return undefined;
    return Math.min(...meaning.map(({ settleMs }) => settleMs)) - stayed;
  };
  const isSettled = (taint: Taint): boolean => {
    const left = leftMs(taint);
    return left !== undefined && left <= 0;
  };
  const isListed = settledOn(node.remembered);
  const isHeld = holdOn(node.labels, policies, NONE_SETTLED);
  const isMeant = protectionOn(node.labels, waiting);
  const open = waiting.length === 0 ? [] : node.taints.filter((taint) => isMeant(taint) && !isHeld(taint));
  const left = open.filter((taint) => !isListed(taint)).flatMap((taint) => leftMs(taint) ?? []);
  const waits = left.filter((ms) => ms > 0);
  return {
    isSettled,
    settlesInMs: waits.length === 0 ? undefined : Math.min(...waits),
    unlisted(remembered) {
      // One that is listed with another value is not in want of room.
      const listed = valuesOf(parseRemembered(remembered));
      return open.filter((taint) => isSettled(taint) && !listed.has(identity(taint)));
    },
  };
}
