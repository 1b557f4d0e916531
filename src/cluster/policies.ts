import type { Logger } from 'pino';
import { type Policy, type PolicyKind, type PolicyResult, parsePolicy } from '../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import type { ApiClient } from './client/api-client.ts';
import { type Change, type Entry, watchResource } from './watch/watch-cache.ts';

export const POLICY_RESOURCES = { TaintPolicy: 'taintpolicies', TolerationPolicy: 'tolerationpolicies' } as const;
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

/** The cluster's policies, watched. A broken one stops none of the others. */
export interface ClusterPolicies {
  /** Resolves once all policies have been read. */
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** The snapshot to judge by: the valid policies. */
  compiled(): PolicySet;
  /** The valid policies. */
  valid(): readonly Policy[];
  objects(): readonly PolicyObject[];
  stop(): Promise<unknown>;
}

export interface ClusterPoliciesOptions {
  readonly client: ApiClient;
  /** Take every policy to be in mode Audit. */
  readonly audit: boolean;
  /** Called after the snapshot has changed: once for many changes that arrive together. */
  readonly onChange: () => void;
  readonly onState: (kind: PolicyKind, connected: boolean) => void;
  readonly log: Logger;
}

export function watchPolicies({ client, audit, onChange, onState, log }: ClusterPoliciesOptions): ClusterPolicies {
  let pending = false;
  let valid: readonly Policy[] = [];
  let compiled = compilePolicies([]);

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
    compiled: () => compiled,
    valid: () => valid,
    objects,
    stop: () => Promise.all(caches.map((cache) => cache.stop())),
  };

  function changed(change: Change<PolicyObject>): void {
    // Our own writes of the status are changes, too.
    const sameSpec = change.type === 'modified' && change.previous.value.generation === change.entry.value.generation;
    // Half of the policies are not a snapshot.
    if (sameSpec || pending || !isSynced) return;
    pending = true;
    setImmediate(compile);
  }

  function compile(): void {
    pending = false;
    valid = objects().flatMap(({ result }) => (result.ok ? [result.policy] : []));
    compiled = compilePolicies(valid, { audit });
    onChange();
  }
}

function viewPolicy(kind: PolicyKind, object: unknown): PolicyObject {
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
