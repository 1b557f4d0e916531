import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import { namespaceOf } from './event.ts';
import { eventName } from './event-name.ts';
import { eventObject, seriesOf } from './event-object.ts';
import type { EventSeries } from './event-series.ts';
import { findUid, isFinal } from './object-uid.ts';

/** How the write of one Event ended. */
export type EventWrite =
  /** The API server knows this count now. */
  | { readonly outcome: 'written'; readonly count: number }
  /** It is to be tried again, at once or when the API server is better. */
  | { readonly outcome: 'again' }
  | { readonly outcome: 'failed'; readonly error: unknown }
  /** Trying again is of no use. */
  | { readonly outcome: 'refused'; readonly error: ApiError };

/** Creates the series' Event, or writes its new count. What is known of it is kept in the series. */
export async function writeEvent(
  client: ApiClient,
  series: EventSeries,
  identity: string,
  options: RequestOptions,
): Promise<EventWrite> {
  try {
    return await (series.created ? patch() : create());
  } catch (error) {
    return error instanceof ApiError && isFinal(error) ? { outcome: 'refused', error } : { outcome: 'failed', error };
  }

  async function create(): Promise<EventWrite> {
    const uid = await findUid(client, series.event.regarding, options);
    const { count } = series;
    try {
      await client.request('POST', collectionOf(series), { ...options, body: eventObject(series, uid, identity) });
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
      // Created before, without the answer arriving. It shows a count that may be lower.
      series.created = true;
      return count > 1 ? { outcome: 'again' } : { outcome: 'written', count };
    }
    series.created = true;
    return { outcome: 'written', count };
  }

  async function patch(): Promise<EventWrite> {
    const { count } = series;
    const path = `${collectionOf(series)}/${encodeURIComponent(series.name)}`;
    const request = { ...options, body: seriesOf(series), contentType: 'application/merge-patch+json' };
    try {
      await client.request('PATCH', path, request);
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      // Events do not live long, and may be deleted: begin a new one.
      series.created = false;
      series.name = eventName(series.event.regarding.name);
      return { outcome: 'again' };
    }
    return { outcome: 'written', count };
  }
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

function collectionOf({ event }: EventSeries): string {
  return `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespaceOf(event.regarding))}/events`;
}
