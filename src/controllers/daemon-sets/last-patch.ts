import { compareResourceVersions } from '../../cluster/watch/resource-version.ts';
import { messageOf } from '../../runtime/error-message.ts';
import type { WatchedDaemonSets } from '../cluster-watches.ts';
import type { DaemonSetWriter, PatchOutcome } from './daemon-set-writer.ts';
import type { RunningDaemonSet } from './running-daemon-set.ts';

/** How long after it was sent a patch can arrive: the client waits 10 s, and an API server ends a request after 60 s (`--request-timeout`). */
const MAY_ARRIVE_MS = 70_000;

/** A patch that ended. */
export interface EndedPatch {
  readonly daemonSet: RunningDaemonSet;
  readonly outcome: PatchOutcome;
}

/**
 * The life of the last patch. It is `Sent` until it is known to have arrived, or that it cannot, and then `Written` until the cache has its result. A
 * patch without an answer stays `Sent`. If it has not arrived after 70 s, it counts as refused: an API server gives no answer while a
 * webhook keeps it waiting, and would be asked for the same patch forever.
 */
export interface LastPatch {
  /** Undefined: there is no patch, or its life has ended. */
  state(): 'Sent' | 'Written' | undefined;
  /** @throws what the client throws */
  send(daemonSet: RunningDaemonSet): Promise<EndedPatch>;
  /**
   * Finds out whether the patch has arrived, and whether the cache has its result.
   * @returns a patch whose answer was lost, once it is known how it ended
   * @throws what the client throws
   */
  settle(): Promise<EndedPatch | undefined>;
}

interface SentPatch {
  readonly state: 'Sent';
  readonly daemonSet: RunningDaemonSet;
  readonly mayArriveUntil: number;
  /** Why there is no answer; undefined while it may come, or if there was one. */
  readonly unanswered?: string;
}

interface WrittenPatch {
  readonly state: 'Written';
  readonly daemonSet: RunningDaemonSet;
  readonly resourceVersion: string;
}

export function lastPatch(
  writer: Pick<DaemonSetWriter, 'patch' | 'outcome'>,
  daemonSets: Pick<WatchedDaemonSets, 'get' | 'isUnreadable'>,
): LastPatch {
  let patch: SentPatch | WrittenPatch | undefined;

  return {
    state: () => patch?.state,
    async send(daemonSet) {
      const sent: SentPatch = { state: 'Sent', daemonSet, mayArriveUntil: performance.now() + MAY_ARRIVE_MS };
      patch = sent;
      try {
        return end(daemonSet, await writer.patch(daemonSet));
      } catch (error) {
        patch = { ...sent, unanswered: messageOf(error) };
        throw error;
      }
    },
    async settle() {
      let ended: EndedPatch | undefined;
      if (patch?.state === 'Sent') {
        const { daemonSet, mayArriveUntil, unanswered } = patch;
        const outcome = await writer.outcome(daemonSet);
        if (outcome !== 'unchanged') ended = end(daemonSet, outcome);
        else if (performance.now() < mayArriveUntil) return undefined;
        else if (unanswered === undefined) patch = undefined;
        else ended = end(daemonSet, { refused: unanswered, mayArrive: false });
      }
      if (patch?.state === 'Written' && !isAwaited(patch)) patch = undefined;
      return ended;
    },
  };

  function end(daemonSet: RunningDaemonSet, outcome: PatchOutcome): EndedPatch {
    if (outcome === 'changed') patch = undefined;
    else if ('resourceVersion' in outcome) patch = { state: 'Written', daemonSet, ...outcome };
    else if (!outcome.mayArrive) patch = undefined;
    return { daemonSet, outcome };
  }

  /** Whether the cache does not have the patch yet. */
  function isAwaited({ daemonSet, resourceVersion }: WrittenPatch): boolean {
    const { name, namespace, uid } = daemonSet.entry;
    const entry = daemonSets.get(name, namespace);
    return (
      entry?.uid === uid &&
      !daemonSets.isUnreadable(name, namespace) &&
      (compareResourceVersions(entry.resourceVersion, resourceVersion) ?? 0) < 0
    );
  }
}
