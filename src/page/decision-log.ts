import { randomUUID } from 'node:crypto';
import type { JudgedRequest } from '../server/admission-server.ts';
import { type KeptDecision, keepDecision } from './kept-decision.ts';

/** How many decisions are remembered: enough to see what went on, and a few megabytes at the very most. */
export const MAX_DECISIONS = 200;

/** The latest decisions of this process. */
export interface DecisionLog {
  /** Takes what was just judged. Cheap: whatever is for readers is made when there are any. */
  record(judged: JudgedRequest): void;
  /** The remembered ones, the oldest first. */
  latest(): KeptDecision[];
  /** Calls the listener with each one from now on; the function that is returned ends it. */
  follow(listener: (decision: KeptDecision) => void): () => void;
}

export interface DecisionLogOptions {
  /** This process' name. */
  readonly replica: string;
  readonly now?: () => Date;
  readonly capacity?: number;
}

export function createDecisionLog({
  replica,
  now = () => new Date(),
  capacity = MAX_DECISIONS,
}: DecisionLogOptions): DecisionLog {
  // A process that was started anew counts from the beginning.
  const run = randomUUID().slice(0, 8);
  const ring: KeptDecision[] = [];
  const listeners = new Set<(decision: KeptDecision) => void>();
  let count = 0;

  return {
    record(judged) {
      const { kind, decision } = judged.judgement;
      // Most requests are none of our business, and would leave no room for those that are.
      if (kind === undefined || (decision.verdict === 'allow' && decision.violations.length === 0)) return;
      const kept = keepDecision(judged, kind, { id: `${replica}/${run}/${count}`, replica, at: now() });
      ring[count++ % capacity] = kept;
      for (const listener of listeners) listener(kept);
    },
    latest: () =>
      count <= capacity ? [...ring] : [...ring.slice(count % capacity), ...ring.slice(0, count % capacity)],
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
