import { microTime } from '../../kubernetes/time.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';
import { namespacedPath } from '../client/object-path.ts';

/** The fields of a Lease (coordination.k8s.io/v1) that leader election uses. The others stay as they are. */
export interface Lease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** Limits of one request. */
export type Bounds = Required<Pick<RequestOptions, 'timeoutMs' | 'signal'>>;

/** One Lease at the API server. Each write has the resourceVersion that it replaces, so that it never reverts another one. */
export interface LeaseStore {
  /** @throws ApiError, except for a missing Lease; Error */
  read(bounds: Bounds): Promise<Lease | undefined>;
  /** @throws ApiError (409 if another process was first); Error */
  create(spec: LeaseSpec, bounds: Bounds): Promise<Lease>;
  /** @throws ApiError (409 if it has changed, 404 if it was deleted); Error */
  update(lease: Lease, spec: LeaseSpec, bounds: Bounds): Promise<Lease>;
}

/** @param name undefined for all Leases of the namespace */
export function leasePath(namespace: string, name?: string): string {
  return namespacedPath('/apis/coordination.k8s.io/v1', namespace, 'leases', name);
}

/** Whether a process holds the Lease, or held it when it ended without releasing it. */
export async function isLed(client: ApiClient, namespace: string, name: string): Promise<boolean> {
  const lease = await findObject<Lease>(client, leasePath(namespace, name));
  return lease !== undefined && holderOf(lease) !== undefined;
}

export function leaseStore(client: ApiClient, namespace: string, name: string): LeaseStore {
  const path = leasePath(namespace, name);
  const head = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } };
  return {
    read: (bounds) => findObject<Lease>(client, path, bounds),
    create: (spec, bounds) =>
      client.request<Lease>('POST', leasePath(namespace), { ...bounds, body: { ...head, spec } }),
    update: (before, spec, bounds) => client.request<Lease>('PUT', path, { ...bounds, body: { ...before, spec } }),
  };
}

/** The holder of the lease, or undefined for a released one. */
export function holderOf({ spec }: Lease): string | undefined {
  return spec?.holderIdentity || undefined;
}

/** The new content of the Lease by its holder. The times are for users, and are not compared. */
export function heldBy(identity: string, durationMs: number, before?: LeaseSpec): LeaseSpec {
  const now = microTime(Date.now());
  const same = before?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1_000,
    acquireTime: (same && before?.acquireTime) || now,
    renewTime: now,
    leaseTransitions: (before?.leaseTransitions ?? 0) + (before === undefined || same ? 0 : 1),
  };
}

/** The released Lease: without a holder, and expired in a second also for clients that only compare times (as client-go). */
export function givenUp({ leaseTransitions = 0 }: LeaseSpec = {}): LeaseSpec {
  const now = microTime(Date.now());
  return { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions };
}
