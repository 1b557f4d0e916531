/**
 * Preloaded (`--import`) into a process of taintkeeper, it has faults that cannot be done to it from outside:
 * - SIGUSR2: it takes memory until V8 gives up, as a leak does.
 * - CLOCK_AHEAD_MS: its clock is so far ahead from the beginning.
 * - SIGWINCH: its clock jumps ahead by what the file CLOCK_JUMP_FILE says, in milliseconds; 0 is the right time again.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const RealDate = Date;
let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);

class JumpingDate extends RealDate {
  constructor(...args: [] | [string | number]) {
    if (args.length === 0) super(RealDate.now() + aheadMs);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}

if (isMainThread) {
  globalThis.Date = JumpingDate as DateConstructor;
  process.on('SIGWINCH', () => {
    aheadMs = Number(readFileSync(process.env.CLOCK_JUMP_FILE ?? '', 'utf8'));
  });
  process.on('SIGUSR2', () => {
    const leak: unknown[] = [];
    // In portions, so that requests are still answered for a while, ever more slowly.
    const take = () => {
      for (let i = 0; i < 20_000; i++) leak.push({ text: `${i} of ${leak.length}`, list: [i] });
      setImmediate(take);
    };
    take();
  });
}
