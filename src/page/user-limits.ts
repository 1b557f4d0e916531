import { createFairMap, type EntrySource } from '../collections/fair-map.ts';
import { type TokenBucket, tokenBucket } from '../runtime/token-bucket.ts';

/** The limit of one user: so many at once, then five a second. A request that is repeated without end leaves room for others. */
const USER_BURST = 100;
const USER_REFILL_MS = 200;

/** How many users have a known limit. A review can name any user, so users of one origin replace each other. */
const MAX_USERS = 256;

/**
 * Limits the listed decisions of each user.
 * @returns how many of the user's decisions were not listed since the last listed one. Undefined if this one is not listed, either
 */
export function userLimits(): (source: EntrySource) => number | undefined {
  const users = createFairMap<{ readonly bucket: TokenBucket; unlisted: number }>(MAX_USERS);
  return (source) => {
    const key = JSON.stringify([source.origin, source.part]);
    const one = users.get(key) ?? { bucket: tokenBucket(USER_BURST, USER_REFILL_MS), unlisted: 0 };
    users.set(key, one, source);
    if (!one.bucket.take()) {
      one.unlisted++;
      return undefined;
    }
    const { unlisted } = one;
    one.unlisted = 0;
    return unlisted;
  };
}
