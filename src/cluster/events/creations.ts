import type { Logger } from 'pino';
import { createFairMap } from '../../collections/fair-map.ts';
import type { ObjectReference } from '../../kubernetes/event.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { messageOf } from '../../runtime/error-message.ts';
import { throttle } from '../../runtime/throttle.ts';
import { takeToken, tokenBucket } from '../../runtime/token-bucket.ts';
import { startWorkQueue } from '../../runtime/work-queue.ts';
import type { ApiClient } from '../client/api-client.ts';
import { isFinal } from '../client/api-error.ts';
import { type ExistingObject, existingObjects } from './existing-objects.ts';

/**
 * By how much an object may seem older than the review of its creation: creation times have whole seconds, by the clock of one of several API
 * servers.
 */
const CREATION_TOLERANCE_MS = 5_000;

/**
 * When the API server is asked for the object, in milliseconds after the answer and after each read that did not find it. A busy API server stores it
 * some seconds after the answer, and other webhooks may take up to 30 s each.
 */
const READS_AFTER_MS = [1_000, 3_000, 10_000, 30_000] as const;
/** A creation that cannot be confirmed within this time is not recorded. */
const GIVE_UP_MS = 120_000;
const READ_TIMEOUT_MS = 5_000;
const CONCURRENCY = 2;
/** An autoscaler adds some hundred nodes at once. Every pod can send reviews, each of which makes the API server read an object. */
const READS_AT_ONCE = 50;
const READ_EVERY_MS = 50;
const MAX_WAITING = 1_024;
/** A kubelet that restarts within {@link CREATION_TOLERANCE_MS} makes its request again. */
const MAX_RECORDED = 1_024;
/** At the end of the process. */
const FLUSH_MS = 2_000;

/** A request that creates an object, and was allowed. */
export interface Creation {
  readonly object: ObjectReference;
  /** Tells the records of one creation apart: each is recorded once. */
  readonly record: string;
  /** A property of the sender that cannot be forged. */
  readonly origin: string;
}

/** Confirms that objects were created. */
export interface Creations {
  /**
   * Calls `onCreated` with the uid once the API server has the object, unless it had an object of that name before. Never throws, never waits. A
   * creation that cannot be confirmed may be discarded.
   */
  follow(creation: Creation, onCreated: (uid: string) => void): void;
  /** Confirms the waiting ones, within the rate limit and for a limited time. */
  stop(): Promise<void>;
}

interface Waiting extends Creation {
  readonly onCreated: (uid: string) => void;
  /** By the monotonic clock. */
  readonly answeredAt: number;
  /** When the object is read, by the monotonic clock. */
  dueAt: number;
  reads: number;
}

/**
 * A request to create an object says nothing about whether the object is created: the API server refuses the name of an existing one only after
 * admission. A kubelet that restarts makes such a request each time. So the object is read afterwards, with its time of creation.
 *
 * It needs get of the objects.
 */
export function followCreations({ client, log }: { client: ApiClient; log: Logger }): Creations {
  const objects = existingObjects(client);
  const waiting = createFairMap<Waiting>(MAX_WAITING);
  const recorded = new Set<string>();
  const bucket = tokenBucket(READS_AT_ONCE, READ_EVERY_MS);
  const ending = new AbortController();
  const tellMissed = throttle((missed, why: string) =>
    log.warn({ missed }, `requests that create nodes or DaemonSets were not recorded: ${why}`),
  );
  let count = 0;
  const queue = startWorkQueue({ name: 'creations', log, concurrency: CONCURRENCY, work: confirmQueued });

  async function confirmQueued(key: string): Promise<number | undefined> {
    const one = waiting.get(key);
    if (!one) return undefined;
    try {
      await takeToken(() => bucket, ending.signal);
      if (await confirm(one)) waiting.delete(key);
      else return one.dueAt - performance.now();
    } catch (error) {
      if (!ending.signal.aborted && !isFinal(error) && performance.now() - one.answeredAt < GIVE_UP_MS) throw error;
      waiting.delete(key);
      tellMissed(messageOf(error));
    }
    return undefined;
  }

  /** @returns whether nothing is left to do */
  async function confirm(one: Waiting): Promise<boolean> {
    const limits = { timeoutMs: READ_TIMEOUT_MS, signal: ending.signal };
    const found = await objects.find(one.object, one.dueAt, limits);
    if (!found) {
      const inMs = READS_AFTER_MS[++one.reads];
      if (inMs !== undefined) one.dueAt = performance.now() + inMs;
      return inMs === undefined;
    }
    const key = `${found.uid} ${one.record}`;
    if (wasCreatedSince(found, one.answeredAt) && !recorded.has(key)) {
      recorded.add(key);
      const [oldest] = recorded;
      if (recorded.size > MAX_RECORDED && oldest !== undefined) recorded.delete(oldest);
      one.onCreated(found.uid);
    }
    return true;
  }

  function wasCreatedSince({ createdAt }: ExistingObject, answeredAt: number): boolean {
    const reviewedAt = client.now().getTime() - (performance.now() - answeredAt);
    return createdAt >= reviewedAt - CREATION_TOLERANCE_MS;
  }

  return {
    follow(creation, onCreated) {
      const { kind, namespace = '', name } = creation.object;
      // One that the API server refuses, or a forged review.
      if (!isDnsSubdomain(name) || (namespace && !isDnsSubdomain(namespace))) return;
      const key = `${kind} ${namespace}/${name} (${++count})`;
      const answeredAt = performance.now();
      const [firstMs] = READS_AFTER_MS;
      const one: Waiting = { ...creation, onCreated, answeredAt, dueAt: answeredAt + firstMs, reads: 0 };
      const evicted = waiting.set(key, one, { origin: creation.origin, part: `${kind} ${namespace}/${name}` });
      if (evicted) tellMissed(`more than ${MAX_WAITING} wait to be confirmed`);
      if (evicted !== one) queue.add(key, firstMs);
    },
    async stop() {
      const bound = setTimeout(() => ending.abort(new Error('the process ends')), FLUSH_MS);
      await queue.stop();
      for (const one of waiting.values()) {
        if (ending.signal.aborted || !bucket.take()) break;
        // A read that was made before may be too old.
        one.dueAt = performance.now();
        await confirm(one).catch((error) => tellMissed(messageOf(error)));
      }
      clearTimeout(bound);
    },
  };
}
