/** Something that changes, to which whoever needs it subscribes; what it is now, its owner says. */
export interface Source<E = void> {
  /** Calls the listener on every change, after those who came before it, until the signal aborts. */
  subscribe(listener: (event: E) => void, signal?: AbortSignal): void;
}

/** A source, seen from whoever tells of its changes. */
export interface Subject<E = void> extends Source<E> {
  /** Calls every listener, and then throws what one of them threw: an AggregateError where several did. */
  next(event: E): void;
}

export function createSubject<E = void>(): Subject<E> {
  const listeners = new Set<(event: E) => void>();
  return {
    subscribe(listener, signal) {
      if (signal?.aborted) return;
      // The same one may listen twice, each time for as long as another signal says.
      const own = (event: E) => listener(event);
      listeners.add(own);
      signal?.addEventListener('abort', () => listeners.delete(own), { once: true });
    },
    next(event) {
      const faults: unknown[] = [];
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (fault) {
          faults.push(fault);
        }
      }
      if (faults.length > 1) throw new AggregateError(faults, 'several listeners failed');
      if (faults.length > 0) throw faults[0];
    },
  };
}
