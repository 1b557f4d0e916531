declare module 'vitest' {
  interface TaskMeta {
    /** Why a test cannot run here, and with it all that is in the same `describe`. */
    obstacle?: string;
  }
}

/**
 * The options of a `describe` or `it`: with an obstacle it is skipped, and the end of the run says why (test/runner). With CI=true
 * that is a failure, unless test/runner/expected-skips.ts has it.
 *
 * @param obstacle such as `there is no openssl`; `undefined` where nothing is in the way
 */
export function skipFor(obstacle: string | undefined): { skip?: true; meta?: { obstacle: string } } {
  return obstacle === undefined ? {} : { skip: true, meta: { obstacle } };
}
