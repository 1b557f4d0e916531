import { namespaceOf } from '../../kubernetes/event.ts';
import { microTime } from '../../kubernetes/time.ts';
import { printableWithin } from '../../text/printable.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { type ApiError, isConflict, isFinal, isNotFound } from '../client/api-error.ts';
import { namespacedPath } from '../client/object-path.ts';
import type { EventSeries } from './event-series.ts';
import type { ExistingObjects } from './existing-objects.ts';

/** The result of writing one Event. */
export type EventWrite =
  /** The API server has this count now. */
  | { readonly outcome: 'written'; readonly count: number }
  /** The object exists, perhaps with a lower count, or it is gone. The series must be written again. */
  | { readonly outcome: 'exists' | 'gone' }
  /** Try again later. */
  | { readonly outcome: 'failed'; readonly error: unknown }
  /** The API server does not have the object of the review. */
  | { readonly outcome: 'unconfirmed' }
  /** A repetition cannot help. */
  | { readonly outcome: 'refused'; readonly error: ApiError };

export interface EventWriterContext {
  readonly client: ApiClient;
  readonly objects: ExistingObjects;
  readonly identity: string;
}

/** Creates the series' Event, or writes its new count. */
export async function writeEvent(
  { client, objects, identity }: EventWriterContext,
  series: EventSeries,
  options: RequestOptions,
): Promise<EventWrite> {
  try {
    return await (series.created ? patch() : create());
  } catch (error) {
    return isFinal(error) ? { outcome: 'refused', error } : { outcome: 'failed', error };
  }

  async function create(): Promise<EventWrite> {
    if (!(await isConfirmed())) return { outcome: 'unconfirmed' };
    const uid = await findUid();
    const { count } = series;
    try {
      await client.request('POST', collectionOf(series), { ...options, body: eventObject(series, uid, identity) });
    } catch (error) {
      if (!isConflict(error)) throw error;
      // An earlier request created it, and its answer was lost. It may show a lower count.
      return count > 1 ? { outcome: 'exists' } : { outcome: 'written', count };
    }
    return { outcome: 'written', count };
  }

  async function isConfirmed(): Promise<boolean> {
    const { reviewed } = series.event;
    if (!reviewed) return true;
    return (await objects.find(reviewed, series.dueAt, options))?.uid === reviewed.uid;
  }

  /**
   * The uid by which `kubectl describe` finds an object's Events (searchEvents of k8s.io/kubectl). For a node that cannot be read it is the name, as
   * in kubelets: kubectl searches for both.
   */
  async function findUid(): Promise<string | undefined> {
    const { regarding } = series.event;
    if (regarding.uid) return regarding.uid;
    const unknown = regarding.kind === 'Node' ? regarding.name : undefined;
    try {
      return (await objects.find(regarding, series.dueAt, options))?.uid ?? unknown;
    } catch (error) {
      if (isFinal(error)) return unknown;
      throw error;
    }
  }

  async function patch(): Promise<EventWrite> {
    const { count } = series;
    const path = `${collectionOf(series)}/${encodeURIComponent(series.name)}`;
    const request = { ...options, body: seriesOf(series), contentType: 'application/merge-patch+json' };
    try {
      await client.request('PATCH', path, request);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Events expire, and may be deleted.
      return { outcome: 'gone' };
    }
    return { outcome: 'written', count };
  }
}

function collectionOf({ event }: EventSeries): string {
  return namespacedPath('/apis/events.k8s.io/v1', namespaceOf(event.regarding), 'events');
}

const REPORTING_CONTROLLER = 'taintkeeper.dev/taintkeeper';

/** ReportingInstanceLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation/events.go. */
const INSTANCE_MAX_BYTES = 128;

/** An Event (events.k8s.io/v1) with the current state of the series. */
function eventObject(series: EventSeries, uid: string | undefined, identity: string): object {
  const { event, firstAt, count, name } = series;
  const { regarding, type, reason, action, note } = event;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: namespaceOf(regarding), name },
    eventTime: microTime(firstAt),
    reportingController: REPORTING_CONTROLLER,
    reportingInstance: printableWithin(identity, INSTANCE_MAX_BYTES),
    regarding: { ...regarding, ...(uid === undefined ? {} : { uid }) },
    type,
    reason,
    action,
    note,
    ...(count > 1 ? seriesOf(series) : {}),
  };
}

/** The fields that change: from the second occurrence on, an Event has a series. */
function seriesOf({ count, lastAt }: EventSeries): object {
  return { series: { count, lastObservedTime: microTime(lastAt) } };
}
