import type { Logger } from 'pino';
import type { Phase } from '../judge/decision.ts';
import { printable } from '../text/printable.ts';
import { type LogLine, throttledLog } from './throttled-log.ts';

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
