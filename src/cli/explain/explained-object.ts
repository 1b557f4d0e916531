import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { runsInAudit } from '../../cluster/policies/policy-object.ts';
import type { NamespacedName } from '../../explain/daemon-explained.ts';
import type { Facts, ToldEvent } from '../../explain/explained-facts.ts';
import { InputError } from '../../files/input-error.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import { installedPolicies } from '../installed-policies.ts';

/** The policies of these kinds, and the Events on an object. @throws InputError if taintkeeper is not installed, ApiError */
export async function readFacts(client: ApiClient, kinds: readonly PolicyKind[], regarding: Regarding): Promise<Facts> {
  const [events, policies] = await Promise.all([readEvents(client, regarding), installedPolicies(client, ...kinds)]);
  return { policies, audit: policies.some(runsInAudit), ...events };
}

/** The object that Events are about. */
export interface Regarding extends NamespacedName {
  readonly kind: string;
}

const MAX_EVENTS = 10;

/** Every user who may create Events can name taintkeeper as their controller. By core/v1, they need no time and no reason. */
interface EventObject {
  readonly reason?: string | null;
  readonly note?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string | null } | null;
}

/** The Events of taintkeeper on an object, the latest last. @param regarding a node's Events are in `default` */
async function readEvents(
  client: ApiClient,
  { kind, namespace, name }: Regarding,
): Promise<Pick<Facts, 'events' | 'notes'>> {
  const fieldSelector = `regarding.kind=${kind},regarding.name=${name},reportingController=taintkeeper.dev/taintkeeper`;
  try {
    const { items } = await client.request<{ items: EventObject[] }>(
      'GET',
      namespacedPath('/apis/events.k8s.io/v1', namespace, 'events'),
      { query: { fieldSelector } },
    );
    const events = items.map(
      ({ reason, note, eventTime, series }): ToldEvent => ({
        time: series?.lastObservedTime ?? eventTime ?? '',
        reason: reason ?? '',
        note: note ?? '',
      }),
    );
    return { events: events.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-MAX_EVENTS), notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { events: [], notes: [`Events were not read: ${error.message}`] };
  }
}

/** A part of an explanation, or a note on why it was not read. */
interface ReadPart<T> {
  readonly value: T | undefined;
  readonly notes: readonly string[];
}

/**
 * What is read, or a note if the user may not read it: the rest is explained without it.
 * @param note what was not read
 * @throws ApiError for another reason
 */
export async function unlessForbidden<T>(reading: Promise<T>, note: string): Promise<ReadPart<T>> {
  try {
    return { value: await reading, notes: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { value: undefined, notes: [`${note}: ${error.message}`] };
  }
}

/** @throws InputError if there is no such object, ApiError */
export async function readObject(client: ApiClient, path: string, what: string): Promise<unknown> {
  const object = await findObject(client, path);
  if (object === undefined) throw new InputError([`${what}: not found`]);
  return object;
}

/** The API of each kind, by its word on the command line. */
const APIS = {
  daemonset: '/apis/apps/v1',
  deployment: '/apis/apps/v1',
  statefulset: '/apis/apps/v1',
  replicaset: '/apis/apps/v1',
  pod: '/api/v1',
} as const;

export function pathOf(kind: keyof typeof APIS, { namespace, name }: NamespacedName): string {
  return namespacedPath(APIS[kind], namespace, `${kind}s`, name);
}
