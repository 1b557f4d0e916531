/** Where it is logged. */
export interface FaultLog {
  warn(message: string): void;
  info(message: string): void;
}

/** A fault that lasts over several attempts. It is logged when it begins, changes and ends. */
export interface RepeatedFault {
  /** `kind` identifies the fault: messages may differ in numbers and addresses. */
  occurred(kind: string, message: string): void;
  ended(): void;
}

/** The kind of a fault of which only the message is known: addresses and times may differ from attempt to attempt. */
export function kindOfMessage(message: string): string {
  return message.replaceAll(/\d+/g, '');
}

/** @param over the log message when the fault has ended */
export function followFault(log: FaultLog, over: string): RepeatedFault {
  let current: string | undefined;
  return {
    occurred(kind, message) {
      if (kind !== current) log.warn(message);
      current = kind;
    },
    ended() {
      if (current !== undefined) log.info(over);
      current = undefined;
    },
  };
}
