/** What may be skipped in CI, and why: by the obstacle that the test names. Everything else has to run there. */
export const EXPECTED_SKIPS: readonly { readonly obstacle: RegExp; readonly why: string }[] = [];

/** Whether CI does without a test that has this obstacle. */
export function isExpected(obstacle: string): boolean {
  return EXPECTED_SKIPS.some((expected) => expected.obstacle.test(obstacle));
}
