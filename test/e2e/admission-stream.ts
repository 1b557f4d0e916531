import { setTimeout as delay } from 'node:timers/promises';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { developer } from '../control-plane/users.ts';
import { path } from './nodes.ts';

/** How requests ended that only the webhook can refuse. */
export interface Outcomes {
  /** Refused by the policy, as they should be. */
  refused: number;
  /** Let through: what was protected is lost. */
  passed: number;
  /** Neither: the webhook could not be asked. */
  failed: { at: number; message: string }[];
}

export function summaryOfAdmissions({ refused, failed, passed }: Outcomes): string {
  return `${refused} judged, ${failed.length} failed, ${passed} let through`;
}

export interface AdmissionStream {
  /** What happened since the last call, or the beginning. */
  take(): Outcomes;
  stop(): Promise<void>;
}

/** How many requests are on their way at the same time at most. */
export const STREAM_WORKERS = 2;
/** Some 60 requests a second in all. */
const PAUSE_MS = 25;

/**
 * A steady stream of requests to remove a protected taint of the node, each a dry run, with the answers counted. They need the
 * webhook: whatever is not "denied" was not judged rightly.
 */
export function startAdmissionStream(cp: ControlPlane, node: string): AdmissionStream {
  const fresh = (): Outcomes => ({ refused: 0, passed: 0, failed: [] });
  let outcomes = fresh();
  let stopped = false;

  async function work(): Promise<void> {
    while (!stopped) {
      try {
        const { status, body } = await cp.request<{ message?: string }>(
          developer,
          'PATCH',
          `${path(node)}?dryRun=All`,
          { body: { spec: { taints: null } }, contentType: MERGE_PATCH },
        );
        if (status === 403 && body.message?.includes('denied the request')) outcomes.refused++;
        else if (status === 200) outcomes.passed++;
        else outcomes.failed.push({ at: Date.now(), message: `${status} ${body.message}` });
      } catch (error) {
        outcomes.failed.push({ at: Date.now(), message: String(error) });
      }
      await delay(PAUSE_MS);
    }
  }

  const workers = Array.from({ length: STREAM_WORKERS }, work);
  return {
    take() {
      const taken = outcomes;
      outcomes = fresh();
      return taken;
    },
    async stop() {
      stopped = true;
      await Promise.all(workers);
    },
  };
}
