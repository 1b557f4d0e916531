/** The result of the function, which is called when the result is first needed. */
export function lazy<Result extends NonNullable<unknown>>(make: () => Result): () => Result {
  let result: Result | undefined;
  return () => {
    result ??= make();
    return result;
  };
}
