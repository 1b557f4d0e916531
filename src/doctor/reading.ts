import { ApiError } from '../cluster/client/api-error.ts';

/** Something that was looked at, or why it could not be. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** In one line. */
      readonly why: string;
      /** The HTTP status, where the API server has answered. */
      readonly status: number | undefined;
    };

/** Waits for the work; what goes wrong is told, not thrown. */
export async function read<T>(work: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    const why = (error as Error).message.replaceAll(/\s+/g, ' ');
    return { ok: false, why, status: error instanceof ApiError ? error.status : undefined };
  }
}

export function known<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** Something that could not be looked at, where nobody asks for the status. */
export function unknown(why: string): Reading<never> {
  return { ok: false, why, status: undefined };
}
