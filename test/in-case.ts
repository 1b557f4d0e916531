/**
 * The result of a comparison. Its error also says in which case it failed: that is written only then, because one run compares thousands of cases.
 *
 * @param about what the case consists of
 */
export function inCase<Result>(about: () => object, compare: () => Result): Result {
  try {
    return compare();
  } catch (error) {
    if (error instanceof Error) error.message = `${JSON.stringify(about(), null, 1)}: ${error.message}`;
    throw error;
  }
}
