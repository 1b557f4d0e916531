/** Notifies its subscribers of changes. The owner has the current value. */
export interface Source<E = void> {
  /** Calls the listener on every change, in the order of subscription, until the signal aborts. */
  subscribe(listener: (event: E) => void, signal?: AbortSignal): void;
}

/** A source, from the side of the owner. */
export interface Subject<E = void> extends Source<E> {
  /** Calls every listener, and then throws what one of them threw, or an AggregateError for several. */
  next(event: E): void;
}

export function createSubject<E = void>(): Subject<E> {
  const listeners = new Set<(event: E) => void>();
  return {
    subscribe(listener, signal) {
      if (signal?.aborted) return;
      // The same listener may subscribe twice, each time with another signal.
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

/** Emits whenever one of these does. */
export function anyOf(...sources: readonly Source[]): Source {
  return {
    subscribe(listener, signal) {
      for (const source of sources) source.subscribe(listener, signal);
    },
  };
}
