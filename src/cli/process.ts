import { once } from 'node:events';

/** Exit codes. */
export const EXIT = {
  ok: 0,
  /** `review`: a change is denied. */
  denied: 1,
  /** A problem was found. */
  problem: 1,
  badInput: 2,
  /** An internal error: EX_SOFTWARE of sysexits.h. */
  internalError: 70,
} as const;

/** Listens for the first signal to stop. A second signal ends the program. Stops listening when it is disposed of. */
export function listenForStop(): Disposable & { readonly signal: Promise<string> } {
  const listening = new AbortController();
  const names = ['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal: listening.signal }).then(() => name));
  const signal = Promise.race(names).finally(() => listening.abort());
  // Rejected when it is disposed of: nothing awaits it then.
  signal.catch(() => {});
  return { signal, [Symbol.dispose]: () => listening.abort() };
}
