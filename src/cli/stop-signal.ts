import { once } from 'node:events';

/** Listens for the first signal to stop; a second one ends the program as it would any other. Disposed of, it listens no more. */
export function listenForStop(): Disposable & { readonly signal: Promise<string> } {
  const listening = new AbortController();
  const names = ['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal: listening.signal }).then(() => name));
  const signal = Promise.race(names).finally(() => listening.abort());
  // Rejected when disposed of: then nobody waits for it.
  signal.catch(() => {});
  return { signal, [Symbol.dispose]: () => listening.abort() };
}
