import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isFinal, isOutdated } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { ClusterDaemonSet } from '../../cluster/watch/cluster-objects.ts';
import { listSubjects, type Violation } from '../../judge/decision.ts';
import { daemonSetReference } from '../../kubernetes/event.ts';
import { TOLERATIONS } from '../../objects/daemon-set-object.ts';
import {
  describeOwner,
  FIELD_MANAGER,
  fieldOwner,
  lastOtherWriter,
  type ManagedFields,
} from '../../objects/managed-fields.ts';
import { eventsOnBoth } from '../../policy/policy-events.ts';
import type { RecordedEvent } from '../../policy/recorded-event.ts';
import type { RolloutStatus } from './rollout-watch.ts';

/** A DaemonSet that lacks tolerations, or that was patched. */
export interface RunningDaemonSet {
  readonly entry: Entry<ClusterDaemonSet>;
  /** The missing tolerations. */
  readonly lacks: readonly Violation[];
  /** Whether another writer removed one of them after taintkeeper had added it. */
  readonly isUndone: boolean;
  /** Whether it has so many tolerations that none is added. */
  readonly tooManyTolerations: boolean;
  /** Whether taintkeeper has ever patched it. */
  readonly patched: boolean;
  /** The annotations of a patch that adds the missing tolerations. */
  readonly record: Readonly<Record<string, string>>;
  /** The desired list of tolerations. */
  readonly tolerations: readonly object[];
  readonly rollout: RolloutStatus;
}

export function titleOf({ entry }: RunningDaemonSet): string {
  return `DaemonSet ${entry.namespace}/${entry.name}`;
}

export function policiesOf({ lacks }: RunningDaemonSet): string[] {
  return [...new Set(lacks.map(({ policy }) => policy))];
}

/** The tolerations that are missing for one policy, or for all. */
export function listLacks({ lacks }: RunningDaemonSet, policy?: string): string {
  return listSubjects(lacks.filter((one) => policy === undefined || one.policy === policy));
}

/** An Event on the DaemonSet and one on the policy, for each policy. */
export function daemonSetEvents(
  daemonSet: RunningDaemonSet,
  policies: readonly string[],
  wording: Pick<RecordedEvent, 'type' | 'reason' | 'action'>,
  note: (policy: string) => string,
): RecordedEvent[] {
  const regarding = daemonSetReference(daemonSet.entry);
  return policies.flatMap((name) => {
    const text = note(name);
    return eventsOnBoth(
      regarding,
      { kind: 'TolerationPolicy', name },
      wording,
      text,
      `TolerationPolicy ${name}: ${text}`,
    );
  });
}

/** The API server also answers so while a webhook is unavailable, which may last. */
const INTERNAL_ERROR = 500;

interface DaemonSetObject {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
}

/**
 * How a write ended: with a new version, with a conflict (the DaemonSet was changed or deleted), or with a refusal. `mayArrive`: the API server or etcd
 * may still do it.
 */
export type Written =
  | { readonly resourceVersion: string }
  | 'changed'
  | { readonly refused: string; readonly mayArrive: boolean };

/** `unchanged`: the write has not arrived. It still can, because the DaemonSet has the version that the write names. */
export type Outcome = { readonly resourceVersion: string } | 'changed' | 'unchanged';

/** Reads and writes DaemonSets directly, without the cache. @throws what the client throws */
export interface DaemonSetWriter {
  /** Appends the missing tolerations to the version that was inspected, and annotates the DaemonSet. */
  patch(daemonSet: RunningDaemonSet): Promise<Written>;
  /** Reads what has become of a patch whose answer was lost. */
  outcome(daemonSet: RunningDaemonSet): Promise<Outcome>;
  /** The writer that has changed the tolerations, in words. */
  otherWriter(daemonSet: RunningDaemonSet): Promise<string>;
}

export function daemonSetWriter(client: ApiClient): DaemonSetWriter {
  return {
    async patch(daemonSet) {
      const { uid, resourceVersion } = daemonSet.entry;
      try {
        const { metadata } = await client.request<DaemonSetObject>('PATCH', pathOf(daemonSet), {
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/merge-patch+json',
          body: {
            metadata: { uid, resourceVersion, annotations: daemonSet.record },
            spec: { template: { spec: { tolerations: daemonSet.tolerations } } },
          },
        });
        return { resourceVersion: metadata.resourceVersion };
      } catch (error) {
        if (isOutdated(error)) return 'changed';
        if (isFinal(error)) return { refused: error.message, mayArrive: false };
        if (!(error instanceof ApiError && error.status === INTERNAL_ERROR)) throw error;
        const found = await outcome(daemonSet);
        return typeof found === 'object' ? found : { refused: error.message, mayArrive: found === 'unchanged' };
      }
    },
    outcome,
    async otherWriter(daemonSet) {
      const { managedFields = [] } = (await read(daemonSet)) ?? {};
      // The list is atomic: its owner wrote all of it. A list that was removed has no owner, so the last writer counts.
      const owner = fieldOwner(managedFields, TOLERATIONS) ?? lastOtherWriter(managedFields);
      return owner ? describeOwner(owner) : 'the writer is not known';
    },
  };

  async function outcome({ entry, record }: RunningDaemonSet): Promise<Outcome> {
    const found = await read({ entry });
    if (found?.resourceVersion === entry.resourceVersion) return 'unchanged';
    const isRecorded = Object.entries(record).every(([name, text]) => found?.annotations?.[name] === text);
    return found && isRecorded ? { resourceVersion: found.resourceVersion } : 'changed';
  }

  /** @returns undefined if the DaemonSet was deleted */
  async function read(daemonSet: Pick<RunningDaemonSet, 'entry'>): Promise<DaemonSetObject['metadata'] | undefined> {
    const found = await findObject<DaemonSetObject>(client, pathOf(daemonSet));
    return found?.metadata.uid === daemonSet.entry.uid ? found.metadata : undefined;
  }
}

function pathOf({ entry }: Pick<RunningDaemonSet, 'entry'>): string {
  return `/apis/apps/v1/namespaces/${entry.namespace}/daemonsets/${entry.name}`;
}
