import { isDeepStrictEqual } from 'node:util';

/** The last status that was written for a policy. */
export interface WrittenStatus {
  readonly sent: unknown;
  /** What the API server has stored of it, by its answer: an older CustomResourceDefinition prunes fields that it does not know. */
  readonly stored: unknown;
}

/** Whether the status has to be written. One that the API server would store as it is already need not be. */
export function isToWrite(current: unknown, next: unknown, written: WrittenStatus | undefined): boolean {
  if (isDeepStrictEqual(current, next)) return false;
  return !(written && isDeepStrictEqual(written.sent, next) && isDeepStrictEqual(written.stored, current));
}
