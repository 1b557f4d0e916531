import { setImmediate } from 'node:timers/promises';

/** How long a loop runs without a break, in milliseconds. Admissions wait meanwhile, and ten such loops may run at once. */
const PIECE_MS = 2;

/** For a loop that takes long: a function to await in each round, which lets other work run once 2 ms have passed since it did. */
export function longLoop(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < PIECE_MS) return;
    await setImmediate();
    since = performance.now();
  };
}
