import type { Logger } from 'pino';
import { type Policy, type PolicyKind, type PolicyResult, parsePolicy } from '../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import type { ApiClient } from './client/api-client.ts';
import { type Change, type Entry, watchResource } from './watch/watch-cache.ts';

export const POLICY_RESOURCES = {
  TaintPolicy: 'taintpolicies',
  TolerationPolicy: 'tolerationpolicies',
  RecoveryPolicy: 'recoverypolicies',
} as const;
export const POLICY_GROUP = '/apis/taintkeeper.dev/v1alpha1';

/** A policy object as it stands in the cluster, whether or not it can be used. */
export interface PolicyObject {
  readonly kind: PolicyKind;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly result: PolicyResult;
  /** As last written, for comparison. */
  readonly status: unknown;
}

/** The valid policies at one time. */
export interface PolicySnapshot {
  readonly policies: readonly Policy[];
  readonly compiled: PolicySet;
  /** The {@link versionOf} each of the objects that they came from. */
  readonly versions: ReadonlySet<string>;
}

/** The cluster's policies, watched. A broken one stops none of the others. */
export interface ClusterPolicies {
  /** Resolves once all policies have been read. */
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** What to judge by; another one whenever it differs. */
  snapshot(): PolicySnapshot;
  objects(): readonly PolicyObject[];
  stop(): Promise<unknown>;
}

/** What tells one spec of one object from all others. */
export function versionOf({ uid, generation }: Pick<PolicyObject, 'uid' | 'generation'>): string {
  return `${uid}@${generation}`;
}

export interface ClusterPoliciesOptions {
  readonly client: ApiClient;
  /** Take every policy to be in mode Audit. */
  readonly audit: boolean;
  /** Called after the snapshot has changed: once for many changes that arrive together. */
  readonly onChange: () => void;
  /** Called after the status of a policy was changed, by whomever. */
  readonly onStatus: () => void;
  readonly onState: (kind: PolicyKind, connected: boolean) => void;
  readonly log: Logger;
}

export function watchPolicies(options: ClusterPoliciesOptions): ClusterPolicies {
  const { client, audit, onChange, onStatus, onState, log } = options;
  let pending = false;
  let snapshot: PolicySnapshot = { policies: [], compiled: compilePolicies([]), versions: new Set() };

  const caches = (Object.keys(POLICY_RESOURCES) as PolicyKind[]).map((kind) =>
    watchResource({
      client,
      path: `${POLICY_GROUP}/${POLICY_RESOURCES[kind]}`,
      project: (object) => viewPolicy(kind, object),
      onChange: changed,
      onState: ({ connected }) => onState(kind, connected),
      log,
    }),
  );
  let isSynced = false;
  const synced = Promise.all(caches.map((cache) => cache.synced)).then(() => {
    isSynced = true;
    compile();
  });
  // Rejected when stopped before; whoever waits for it has a reference of their own.
  synced.catch(() => {});
  const objects = () => caches.flatMap((cache) => [...cache.entries()].map(({ value }: Entry<PolicyObject>) => value));

  return {
    synced,
    isSynced: () => isSynced,
    snapshot: () => snapshot,
    objects,
    stop: () => Promise.all(caches.map((cache) => cache.stop())),
  };

  function changed(change: Change<PolicyObject>): void {
    if (change.type === 'modified' && versionOf(change.previous.value) === versionOf(change.entry.value)) {
      onStatus();
      return;
    }
    // Half of the policies are not a snapshot.
    if (pending || !isSynced) return;
    pending = true;
    setImmediate(compile);
  }

  function compile(): void {
    pending = false;
    const valid = objects().flatMap(({ result, ...object }) => (result.ok ? [{ policy: result.policy, object }] : []));
    const policies = valid.map(({ policy }) => policy);
    const versions = new Set(valid.map(({ object }) => versionOf(object)));
    snapshot = { policies, compiled: compilePolicies(policies, { audit }), versions };
    onChange();
  }
}

/** What is kept of an object as the API server gives it. */
export function viewPolicy(kind: PolicyKind, object: unknown): PolicyObject {
  const { metadata, status } = object as {
    metadata: { name: string; uid: string; generation?: number; resourceVersion: string };
    status?: unknown;
  };
  return {
    kind,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    resourceVersion: metadata.resourceVersion,
    // Items of a list come without kind and apiVersion.
    result: parsePolicy({ ...(object as object), kind, apiVersion: 'taintkeeper.dev/v1alpha1' }),
    status,
  };
}
