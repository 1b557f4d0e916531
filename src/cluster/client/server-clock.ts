/** The time by the clock of a server, as far as it is known. */
export interface ServerClock {
  /** The time by the server's clock; by our own until it has told. A `Date` header counts whole seconds. */
  now(): Date;
  /** Takes the `Date` header of an answer (RFC 9110, 6.6.1); anything else changes nothing. */
  heard(date: string | undefined): void;
}

/** Goes on from the last time heard by a clock that nobody sets: a jump of our own changes nothing. */
export function serverClock(): ServerClock {
  let heard: { readonly time: number; readonly at: number } | undefined;
  return {
    now: () => new Date(heard ? heard.time + performance.now() - heard.at : Date.now()),
    heard(date) {
      const time = Date.parse(date ?? '');
      if (!Number.isNaN(time)) heard = { time, at: performance.now() };
    },
  };
}
