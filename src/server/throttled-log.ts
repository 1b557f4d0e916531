import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { createFairMap, type EntrySource } from '../collections/fair-map.ts';
import { throttle } from '../runtime/throttle.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

/** How many different lines are throttled. One more is logged each time, as if it were new. */
const MAX_THROTTLED = 256;

/**
 * Logs a line at most every ten seconds for each source and `distinct`. `repeated` counts the lines since the last one. If a sender can invent one of
 * these values, each of its requests may be a line, and they may rotate all others out of a container's log.
 */
export function throttledLog(log: Logger): (line: LogLine, source: EntrySource, ...distinct: unknown[]) => void {
  const throttled = createFairMap<(line: LogLine) => void>(MAX_THROTTLED);
  return (line, source, ...distinct) => {
    // Hashed, because a request may have hundreds of taints.
    const key = hash('sha256', JSON.stringify([source.origin, source.part, distinct]));
    const say =
      throttled.get(key) ??
      throttle((times, { level, fields, message }: LogLine) =>
        log[level](times > 1 ? { ...fields, repeated: times } : fields, message),
      );
    throttled.set(key, say, source);
    say(line);
  };
}
