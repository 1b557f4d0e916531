import { ServerResponse } from 'node:http';

/**
 * Preloaded (`--import`), it gives a process the clock of a machine that is CLOCK_AHEAD_MS ahead. Node.js' own `Date` header goes
 * by a clock that nothing here can reach: it is set before.
 */
const aheadMs = Number(process.env.CLOCK_AHEAD_MS);
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...args: [] | [string | number]) {
    if (args.length === 0) super(RealDate.now() + aheadMs);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}
globalThis.Date = SkewedDate as DateConstructor;

const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (this: ServerResponse, ...args: unknown[]) {
  this.setHeader('date', new Date().toUTCString());
  return writeHead.apply(this, args as Parameters<typeof writeHead>);
} as typeof writeHead;
