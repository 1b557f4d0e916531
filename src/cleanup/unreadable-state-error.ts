import type { ApiError } from '../cluster/client/api-error.ts';

/** The user may not read something, without which it is unknown what may be removed. */
export class UnreadableStateError extends Error {
  override name = 'UnreadableStateError';

  /** @param what such as `which startup taints are left` */
  constructor(what: string, refusal: ApiError) {
    super(`${what} cannot be read: ${refusal.message}`);
  }
}
