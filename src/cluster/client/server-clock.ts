/** A clock that differs from another one by more than this has jumped, or is wrong. Time synchronisation keeps clocks within a second. */
const MAX_CLOCK_STEP_MS = 600_000;

/** The time by the clock of a server, if it is known. */
export interface ServerClock {
  /** The time by the server's clock, or by the local clock before an answer counts ({@link hearClock}). A `Date` header has whole seconds. */
  now(): Date;
  /** Reads the `Date` header of an answer (RFC 9110, 6.6.1). Other values change nothing. */
  heard(date: string | undefined): void;
  /** Whether the server's last answer agrees with the local clock. False before the first one. */
  isConfirmed(): boolean;
}

/** Continues from the last received time by a monotonic clock: a change of the local clock has no effect. */
export function serverClock(): ServerClock {
  let heard: HeardClock = { believed: undefined, doubted: undefined };
  const local = () => Date.now() - performance.now();
  return {
    now: () => new Date((heard.believed ?? local()) + performance.now()),
    heard(date) {
      const time = Date.parse(date ?? '');
      if (Number.isNaN(time)) return;
      heard = hearClock(heard, time - performance.now(), local());
    },
    isConfirmed() {
      const last = heard.doubted ?? heard.believed;
      return last !== undefined && clocksAgree(last, local());
    },
  };
}

/**
 * The clock of a server, as its answers tell it. Clocks are offsets to a monotonic clock of this process, in milliseconds: two equal offsets are two
 * clocks that agree, however much time has passed between the answers.
 */
export interface HeardClock {
  /** The clock that is used. Undefined before the first answer that counts. */
  readonly believed: number | undefined;
  /** The clock of the last answer, if it does not count. */
  readonly doubted: number | undefined;
}

/**
 * The clock after one more answer. An answer counts if it agrees with the clock in use, with the local clock, or with the answer before it. One answer
 * with a wrong time therefore changes nothing, and a server whose clock was really set is believed from its second answer on.
 */
export function hearClock({ believed, doubted }: HeardClock, heard: number, local: number): HeardClock {
  const counts = [believed, local, doubted].some((clock) => clock !== undefined && clocksAgree(clock, heard));
  return counts ? { believed: heard, doubted: undefined } : { believed, doubted: heard };
}

/** Whether two clocks, in milliseconds, differ by ten minutes at most. */
function clocksAgree(a: number, b: number): boolean {
  return Math.abs(a - b) <= MAX_CLOCK_STEP_MS;
}
