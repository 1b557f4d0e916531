import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-error.ts';

/**
 * The time by the API server's clock, for what lasts: certificates. If its last answer disagrees with the local clock, the API server is asked again,
 * because one of both clocks is wrong, and a second answer decides which.
 * @throws Error if there is no answer
 */
export async function confirmedTime(client: Pick<ApiClient, 'request' | 'now' | 'isClockConfirmed'>): Promise<Date> {
  if (!client.isClockConfirmed()) {
    try {
      await client.request('GET', '/version');
    } catch (error) {
      // A refusal has the time, too.
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return client.now();
}
