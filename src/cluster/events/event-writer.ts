import { namespaceOf, type ObjectReference, printableWithin } from '../../kubernetes/event.ts';
import { microTime } from '../../kubernetes/text.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { type ApiError, isConflict, isFinal, isNotFound } from '../client/api-error.ts';
import { type EventSeries, eventName } from './event-series.ts';

/** Where the API server has the objects that our Events are about. */
const COLLECTIONS: Readonly<Record<string, (namespace: string) => string>> = {
  Node: () => '/api/v1/nodes',
  DaemonSet: (namespace) => `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/daemonsets`,
  TaintPolicy: () => '/apis/taintkeeper.dev/v1alpha1/taintpolicies',
  TolerationPolicy: () => '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies',
  RecoveryPolicy: () => '/apis/taintkeeper.dev/v1alpha1/recoverypolicies',
};

/**
 * The uid by which `kubectl describe` looks for an object's Events (searchEvents of k8s.io/kubectl). An object that is
 * being created has none yet when its admission is judged, and a violation knows its policy by name alone. Of a node that cannot be
 * read it is the name, as kubelets have it: kubectl looks for both.
 * @returns undefined when there is no such object, or none that may be read
 * @throws Error, and ApiError for what may be better next time
 */
async function findUid(
  client: ApiClient,
  regarding: ObjectReference,
  options: RequestOptions,
): Promise<string | undefined> {
  if (regarding.uid) return regarding.uid;
  const unknown = regarding.kind === 'Node' ? regarding.name : undefined;
  const collection = COLLECTIONS[regarding.kind];
  if (!collection) return unknown;
  try {
    const path = `${collection(namespaceOf(regarding))}/${encodeURIComponent(regarding.name)}`;
    const { metadata } = await client.request<{ metadata: { uid: string } }>('GET', path, options);
    return metadata.uid;
  } catch (error) {
    if (isFinal(error)) return unknown;
    throw error;
  }
}

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
    return isFinal(error) ? { outcome: 'refused', error } : { outcome: 'failed', error };
  }

  async function create(): Promise<EventWrite> {
    const uid = await findUid(client, series.event.regarding, options);
    const { count } = series;
    try {
      await client.request('POST', collectionOf(series), { ...options, body: eventObject(series, uid, identity) });
    } catch (error) {
      if (!isConflict(error)) throw error;
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
      if (!isNotFound(error)) throw error;
      // Events do not live long, and may be deleted: begin a new one.
      series.created = false;
      series.name = eventName(series.event.regarding.name);
      return { outcome: 'again' };
    }
    return { outcome: 'written', count };
  }
}

function collectionOf({ event }: EventSeries): string {
  return `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespaceOf(event.regarding))}/events`;
}

const REPORTING_CONTROLLER = 'taintkeeper.dev/taintkeeper';

/** ReportingInstanceLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation/events.go. */
const INSTANCE_MAX_BYTES = 128;

/** An Event (events.k8s.io/v1) that shows the series as it stands. */
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

/** The part that changes: from the second time on an Event has a series. */
function seriesOf({ count, lastAt }: EventSeries): object {
  return { series: { count, lastObservedTime: microTime(lastAt) } };
}
