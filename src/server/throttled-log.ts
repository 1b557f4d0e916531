import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { createFairMap, type EntrySource } from '../collections/fair-map.ts';
import type { Phase } from '../judge/decision.ts';
import { throttle } from '../runtime/throttle.ts';
import { printable } from '../text/printable.ts';

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

/** Why a request was refused, not judged or not recorded. */
export interface RequestFault {
  readonly level: LogLine['level'];
  /** Without any text that a sender can invent. */
  readonly what: string;
  readonly detail?: string;
  /** The sender, which cannot be forged. */
  readonly origin: string;
  /** Undefined for a path without reviews. */
  readonly phase?: Phase | undefined;
  readonly fields?: object;
}

/** Logs a fault at most every ten seconds for each sender, phase and `what`: every pod can send such requests, with any content. */
export function requestFaultLog(log: Logger): (fault: RequestFault) => void {
  const logThrottled = throttledLog(log);
  return ({ level, what, detail, origin, phase, fields }) => {
    const line: LogLine = {
      level,
      fields: { origin: printable(origin), ...(phase ? { path: `/${phase}` } : {}), ...fields },
      message: detail === undefined ? what : `${what}: ${printable(detail)}`,
    };
    logThrottled(line, { origin, part: what }, phase, level);
  };
}
