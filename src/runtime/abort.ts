/** The result of the promise, unless the signal aborts first: then throws the signal's reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // No caller handles a later rejection.
    promise.catch(() => {});
    throw signal.reason;
  }
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** {@link orAborted} for a connection. One that opens after the signal is destroyed, because it would keep the process alive. */
export async function openOrAborted<T extends { destroy(): unknown }>(
  opening: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await orAborted(opening, signal);
  } catch (error) {
    opening.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  }
}
