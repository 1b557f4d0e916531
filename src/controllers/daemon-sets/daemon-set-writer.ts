import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isFinal, isOutdated } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import type { ClusterDaemonSet } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { listSubjects, type Violation } from '../../judge/decision.ts';
import { daemonSetReference, type RecordedEvent } from '../../kubernetes/event.ts';
import {
  describeOwner,
  FIELD_MANAGER,
  fieldOwner,
  lastOtherWriter,
  type ManagedFields,
} from '../../objects/managed-fields.ts';
import { eventsOnBoth } from '../../policy/policy-events.ts';
import type { RolloutStatus } from './rollout-watch.ts';

/** A DaemonSet that lacks tolerations, or that got some while it ran. */
export interface RunningDaemonSet {
  readonly entry: Entry<ClusterDaemonSet>;
  /** What it lacks. */
  readonly lacks: readonly Violation[];
  /** Whether it got some of that before, and another writer removed it. */
  readonly isUndone: boolean;
  /** Whether it was ever patched. */
  readonly patched: boolean;
  /** The annotations that a patch for what it lacks writes. */
  readonly record: Readonly<Record<string, string>>;
  /** All tolerations as they should be. */
  readonly tolerations: readonly object[];
  readonly rollout: RolloutStatus;
}

export function titleOf({ entry }: RunningDaemonSet): string {
  return `DaemonSet ${entry.namespace}/${entry.name}`;
}

export function policiesOf({ lacks }: RunningDaemonSet): string[] {
  return [...new Set(lacks.map(({ policy }) => policy))];
}

/** What it lacks, by one policy or by all. */
export function listLacks({ lacks }: RunningDaemonSet, policy?: string): string {
  return listSubjects(lacks.filter((one) => policy === undefined || one.policy === policy));
}

/** For each of the policies, one Event on the DaemonSet and one on the policy. */
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

const TOLERATIONS = ['spec', 'template', 'spec', 'tolerations'];

/** Also for a webhook that does not answer the API server, which may go on for as long as that one is down. */
const INTERNAL_ERROR = 500;

interface DaemonSetObject {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
}

/** How a write ended: there is a new version, the object has changed meanwhile or is gone, or the API server refuses it. */
export type Written = { readonly resourceVersion: string } | 'changed' | { readonly refused: string };

/** Reads and writes DaemonSets past the cache. All of it fails as the client does. */
export interface DaemonSetWriter {
  /** Appends what the DaemonSet lacks, to the version that was looked at and no other, and marks it. */
  patch(daemonSet: RunningDaemonSet): Promise<Written>;
  /** What became of a patch whose answer was lost. */
  outcome(daemonSet: RunningDaemonSet): Promise<Written>;
  /** Who has changed its tolerations, in words. */
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
        if (isFinal(error)) return { refused: error.message };
        if (!(error instanceof ApiError && error.status === INTERNAL_ERROR)) throw error;
        const found = await outcome(daemonSet);
        return found === 'changed' ? { refused: error.message } : found;
      }
    },
    outcome,
    async otherWriter(daemonSet) {
      const { managedFields = [] } = (await read(daemonSet)) ?? {};
      // The list is atomic: its owner wrote all of it. Nobody owns a list that was removed, so then the last writer counts.
      const owner = fieldOwner(managedFields, TOLERATIONS) ?? lastOtherWriter(managedFields);
      return owner ? describeOwner(owner) : 'the writer is not known';
    },
  };

  async function outcome(daemonSet: RunningDaemonSet): Promise<Written> {
    const found = await read(daemonSet);
    const isRecorded = Object.entries(daemonSet.record).every(([name, text]) => found?.annotations?.[name] === text);
    if (!found || !isRecorded) return 'changed';
    return { resourceVersion: found.resourceVersion };
  }

  /** Undefined when it is gone. */
  async function read(daemonSet: RunningDaemonSet): Promise<DaemonSetObject['metadata'] | undefined> {
    const found = await findObject<DaemonSetObject>(client, pathOf(daemonSet));
    return found?.metadata.uid === daemonSet.entry.uid ? found.metadata : undefined;
  }
}

function pathOf({ entry }: RunningDaemonSet): string {
  return `/apis/apps/v1/namespaces/${entry.namespace}/daemonsets/${entry.name}`;
}
