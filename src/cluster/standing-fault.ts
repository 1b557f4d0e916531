/** Where it is logged. */
export interface FaultLog {
  warn(message: string): void;
  info(message: string): void;
}

/** A fault that lasts over many attempts, and is logged when it begins, changes and ends. */
export interface StandingFault {
  /** `kind` says what counts as the same fault: messages may differ in numbers and addresses. */
  is(kind: string, message: string): void;
  isOver(): void;
}

/** @param over what is logged when the fault has ended */
export function followFault(log: FaultLog, over: string): StandingFault {
  let standing: string | undefined;
  return {
    is(kind, message) {
      if (kind !== standing) log.warn(message);
      standing = kind;
    },
    isOver() {
      if (standing !== undefined) log.info(over);
      standing = undefined;
    },
  };
}
