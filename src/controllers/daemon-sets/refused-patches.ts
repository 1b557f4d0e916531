import type { RunningDaemonSet } from './running-daemon-set.ts';

/** How long the API server is not asked again for the same patch, in milliseconds. */
const PAUSE_MS = 300_000;

/** The patches that the API server refused last. A refusal delays only the same patch. All times are of performance.now(), in milliseconds. */
export interface RefusedPatches {
  /** @param message of the API server */
  refused(daemonSet: RunningDaemonSet, message: string): void;
  /** The DaemonSet was patched. */
  patched(daemonSet: RunningDaemonSet): void;
  /** Forgets all patches but those that these DaemonSets still need. */
  retain(found: readonly RunningDaemonSet[]): void;
  /** Whether the patch has to wait. */
  isPaused(daemonSet: RunningDaemonSet, now: number): boolean;
  messageOf(daemonSet: RunningDaemonSet): string | undefined;
  /** When patches are tried again. Some of these times may have passed. */
  ends(): number[];
}

interface Refusal {
  readonly message: string;
  readonly added: string;
  readonly until: number;
}

export function refusedPatches(): RefusedPatches {
  /** By the uid of the DaemonSet. */
  const refusals = new Map<string, Refusal>();
  return {
    refused(daemonSet, message) {
      const until = performance.now() + PAUSE_MS;
      refusals.set(daemonSet.entry.uid, { message, added: addedBy(daemonSet), until });
    },
    patched: ({ entry }) => void refusals.delete(entry.uid),
    retain(found) {
      const needed = new Map(found.map((daemonSet) => [daemonSet.entry.uid, addedBy(daemonSet)]));
      for (const [uid, { added }] of refusals) if (needed.get(uid) !== added) refusals.delete(uid);
    },
    isPaused: ({ entry }, now) => (refusals.get(entry.uid)?.until ?? now) > now,
    messageOf: ({ entry }) => refusals.get(entry.uid)?.message,
    ends: () => Array.from(refusals.values(), ({ until }) => until),
  };
}

/** The tolerations that the patch adds, for comparison. */
function addedBy({ missing }: RunningDaemonSet): string {
  return JSON.stringify(missing.map(({ subject }) => subject));
}
