import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Policy, PolicyKind } from '../../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../policy/policy-set.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import type { ApiClient } from '../client/api-client.ts';
import { listObjects } from '../list/list-objects.ts';
import type { Change, Entry } from '../watch/cached-objects.ts';
import { type PolicyObject, versionInForce, versionOf, viewPolicy } from './policy-object.ts';
import { POLICY_KINDS, policiesPath } from './policy-paths.ts';
import { watchKind } from './watched-kind.ts';

/**
 * The current policies of these kinds.
 * @throws ApiError (404 where the kind is not installed), Error
 */
export async function listPolicies(
  client: ApiClient,
  kinds: readonly PolicyKind[] = POLICY_KINDS,
): Promise<PolicyObject[]> {
  const lists = kinds.map((kind) => listObjects(client, policiesPath(kind), (object) => viewPolicy(kind, object)));
  return (await Promise.all(lists)).flat();
}

/** A watch confirms the state every 30 s, and a dead one is noticed after 35 s: see WATCH_TIMINGS. */
const STALE_AFTER_MS = 60_000;

/** The policies in force at one time. */
export interface PolicySnapshot {
  readonly policies: readonly Policy[];
  readonly compiled: PolicySet;
  /** The {@link versionInForce} of each of their objects. */
  readonly versions: ReadonlySet<string>;
}

/**
 * The cluster's policies, watched. If the spec of an object cannot be used, the last usable one that this process has seen stays in force. It is in
 * memory only: a process that starts later does not know it.
 */
export interface ClusterPolicies {
  /** Resolves once all policies have been read. */
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** The kinds without a CustomResourceDefinition. They have no policies. */
  kindsWithoutDefinition(): readonly PolicyKind[];
  /** The kinds that could not be read yet, and why. */
  unread(): readonly { readonly kind: PolicyKind; readonly problem: string }[];
  /** Whether the kind is watched, and a usable spec of each policy of the kind is known. */
  isComplete(kind: PolicyKind): boolean;
  /** When they were last certainly current, if that is too long ago. Undefined while they are watched. */
  staleSince(): Date | undefined;
  /** The policies to judge by. A new object after each change. */
  snapshot(): PolicySnapshot;
  /** Emits after the snapshot has changed: once for several changes at the same time. */
  readonly changes: Source;
  /** Emits after a change of a policy's status, by any writer. */
  readonly statusChanges: Source;
  objects(): readonly PolicyObject[];
  stop(): Promise<unknown>;
}

export interface ClusterPoliciesOptions {
  readonly client: ApiClient;
  /** Every policy counts as mode Audit. */
  readonly audit: boolean;
  readonly onState: (kind: PolicyKind, connected: boolean) => void;
  readonly log: Logger;
}

export function watchPolicies(options: ClusterPoliciesOptions): ClusterPolicies {
  const { client, audit, onState, log } = options;
  const changes = createSubject();
  const statusChanges = createSubject();
  let pending = false;
  let snapshot: PolicySnapshot = { policies: [], compiled: compilePolicies([]), versions: new Set() };

  /** Kinds with a policy of which nothing is in force, in the snapshot. */
  let incomplete: ReadonlySet<PolicyKind> = new Set();
  /** Set together with the first snapshot, a moment after the last list: until then, no policy would be in force. */
  let isSynced = false;
  let isListed = false;

  const kinds = POLICY_KINDS.map((kind) =>
    watchKind(kind, {
      client,
      onChange: changed,
      onSynced() {
        if (isListed) compile();
      },
      onState,
      log,
    }),
  );
  const caches = kinds.map(({ cache }) => cache);
  const first = Promise.withResolvers<void>();
  const synced = first.promise;
  Promise.all(kinds.map(({ known }) => known)).then(() => {
    isListed = true;
    compile();
  }, first.reject);
  // Rejected if stopped before. Callers that wait have a reference of their own.
  synced.catch(() => {});
  const isConnected = (kind: PolicyKind) => kinds.some((one) => one.kind === kind && one.isConnected());
  const objects = () => caches.flatMap((cache) => [...cache.entries()].map(({ value }: Entry<PolicyObject>) => value));

  return {
    synced,
    isSynced: () => isSynced,
    isComplete: (kind) => isSynced && isConnected(kind) && !incomplete.has(kind),
    staleSince() {
      const stale = caches.filter((cache) => (cache.ageMs() ?? 0) >= STALE_AFTER_MS);
      return stale.length > 0 ? new Date(Math.min(...stale.map((cache) => cache.lastCurrent() ?? 0))) : undefined;
    },
    snapshot: () => snapshot,
    changes,
    statusChanges,
    objects,
    kindsWithoutDefinition: () => kinds.filter(({ hasNoDefinition }) => hasNoDefinition()).map(({ kind }) => kind),
    unread: () =>
      kinds
        .filter(({ cache, hasNoDefinition }) => !cache.isSynced() && !hasNoDefinition())
        .map(({ kind, problem }) => ({ kind, problem: problem() })),
    stop: () => Promise.all(kinds.map((one) => one.stop())),
  };

  function changed(change: Change<PolicyObject>, isKindListed: boolean): void {
    if (change.type === 'modified' && isSame(change.previous.value, change.entry.value)) {
      statusChanges.next();
      return;
    }
    // Half of the policies are no snapshot.
    if (pending || !isListed || !isKindListed) return;
    pending = true;
    setImmediate(compile);
  }

  /** An error is a fault of taintkeeper. The policies before stay in force, and without any, the replica is not ready. */
  function compile(): void {
    pending = false;
    try {
      takeSnapshot();
    } catch (err) {
      log.error({ err }, 'the policies could not be compiled; those that were in force before stay in force');
      return;
    }
    isSynced = true;
    first.resolve();
    try {
      changes.next();
    } catch (err) {
      log.error({ err }, 'the policies have changed, and not everything could follow the change');
    }
  }

  function takeSnapshot(): void {
    const used = objects().flatMap((object) => (object.inForce ? [{ object, policy: object.inForce.policy }] : []));
    const policies = used.map(({ policy }) => policy);
    const versions = new Set(used.flatMap(({ object }) => versionInForce(object) ?? []));
    snapshot = { policies, compiled: compilePolicies(policies, { audit }), versions };
    incomplete = new Set(objects().flatMap(({ kind, inForce }) => (inForce ? [] : [kind])));
  }
}

/**
 * Whether only the metadata and the status differ. One generation may be read with more fields than before: an API server leaves out those that its
 * definition of the kind does not have yet.
 */
function isSame(a: PolicyObject, b: PolicyObject): boolean {
  return versionOf(a) === versionOf(b) && isDeepStrictEqual(a.result, b.result);
}
