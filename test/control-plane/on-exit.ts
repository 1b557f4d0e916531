import { constants } from 'node:os';

const cleanups = new Set<() => void>();
let armed = false;

/**
 * Runs `cleanup` when this process ends: by itself, by an uncaught exception, by SIGINT or by SIGTERM. Only SIGKILL
 * goes past it. The newest cleanup runs first, so processes end before the folders they write to are removed.
 * `cleanup` must be synchronous: nothing else happens while a process exits.
 *
 * @returns a function that takes the cleanup back, for when the work is already done
 */
export function onExit(cleanup: () => void): () => void {
  arm();
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

function runCleanups(): void {
  for (const cleanup of [...cleanups].reverse()) {
    cleanups.delete(cleanup);
    try {
      cleanup();
    } catch (error) {
      process.stderr.write(`cleaning up: ${error}\n`);
    }
  }
}

function arm(): void {
  if (armed) return;
  armed = true;
  process.on('exit', runCleanups);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      runCleanups();
      // With no other listener the signal keeps its usual meaning; vitest replaces process.exit, so it is raised again.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, constants.signals[signal]);
    });
  }
}
