import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isNotFound } from '../cluster/client/api-error.ts';
import type { PolicyObject } from '../cluster/policies.ts';
import { lastWriter, type ManagedFields } from '../controllers/managed-objects.ts';
import { InputError } from '../files/text-files.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import type { PolicyTrouble, ToldEvent } from './explain-output.ts';

/** Whether each condition holds where all is well. Taints that wait for their turn are no trouble: it comes. */
const WELL: Readonly<Record<string, 'True' | 'False'>> = {
  Ready: 'True',
  Backstop: 'True',
  Stalled: 'False',
  FieldsIgnored: 'False',
  Intruders: 'False',
};

/** What of a policy is not as it should be, by its own status. */
export function troublesOf({ kind, name, status }: PolicyObject): PolicyTrouble[] {
  const { conditions = [] } = (status ?? {}) as PolicyStatus;
  return conditions
    .filter(({ type, status: holds }) => type in WELL && WELL[type] !== holds)
    .map(({ type, reason, message }) => ({ kind, policy: name, condition: type, reason, message }));
}

const MAX_EVENTS = 10;

interface EventObject {
  readonly reason: string;
  readonly note?: string;
  readonly eventTime?: string;
  readonly series?: { readonly lastObservedTime: string };
}

/** What taintkeeper has told of an object, the latest last. @param namespace of the object; a node's Events are in `default` */
export async function readEvents(
  client: ApiClient,
  { kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<{ readonly events: readonly ToldEvent[]; readonly notes: readonly string[] }> {
  const fieldSelector = `regarding.kind=${kind},regarding.name=${name},reportingController=taintkeeper.dev/taintkeeper`;
  try {
    const { items } = await client.request<{ items: EventObject[] }>(
      'GET',
      `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      { query: { fieldSelector } },
    );
    const events = items.map(
      ({ reason, note = '', eventTime = '', series }): ToldEvent => ({
        time: series?.lastObservedTime ?? eventTime,
        reason,
        note,
      }),
    );
    return { events: events.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-MAX_EVENTS), notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { events: [], notes: [`Events were not read: ${error.message}`] };
  }
}

/** @throws InputError where there is no such object, ApiError */
export async function readObject(client: ApiClient, path: string, what: string): Promise<unknown> {
  try {
    return await client.request('GET', path);
  } catch (error) {
    if (isNotFound(error)) throw new InputError([`${what}: not found`]);
    throw error;
  }
}

/** Who wrote a field of the object last, as far as the API server has noted it. */
export function writerOf(object: unknown, path: readonly string[]): ManagedFields | undefined {
  const { managedFields = [] } = (object as { metadata: { managedFields?: ManagedFields[] } }).metadata;
  return lastWriter(managedFields, path);
}
