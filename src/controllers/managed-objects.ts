import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { createBackOff } from '../runtime/back-off.ts';

// What the objects have in common that taintkeeper writes and keeps as they should be.

/** `metadata.ownerReferences`, if anything. */
export interface Ownership {
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
}

/**
 * What makes an object go with the ClusterRole of that name; nothing without a name. An owner in a namespace would not do: garbage
 * collection takes such a reference of a cluster-scoped object for a broken one.
 * @throws ApiError
 */
export async function ownedByClusterRole(client: ApiClient, clusterRole: string | undefined): Promise<Ownership> {
  if (clusterRole === undefined) return {};
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${clusterRole}`;
  const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>('GET', path);
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, uid }] };
}

/**
 * Whether `actual` has all that `desired` says: lists item by item, of maps the required fields. Fields that a newer
 * API server adds by itself are no difference, or the configuration would be written forever.
 */
export function covers(actual: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return (
      Array.isArray(actual) &&
      actual.length === desired.length &&
      desired.every((item, index) => covers(actual[index], item))
    );
  }
  if (typeof desired === 'object' && desired !== null) {
    return (
      typeof actual === 'object' &&
      actual !== null &&
      Object.entries(desired).every(([field, value]) => covers((actual as Record<string, unknown>)[field], value))
    );
  }
  return actual === desired;
}

/**
 * A LabelSelector to compare with what is registered: all of it in one list, and what is undefined must not be there. Of a map, what
 * somebody added to it would not be seen; the API server leaves empty lists out.
 */
export function exactSelector(requirements: readonly LabelSelectorRequirement[]) {
  return { matchLabels: undefined, matchExpressions: requirements.length > 0 ? requirements : undefined };
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 60_000;
/** So long without a repair, and the next one is the first again. */
const QUIET_MS = 120_000;
const REPEATED = 5;

/** Keeps repairs apart: otherwise another writer that sets something different would be answered without end. */
export interface RepairLimit {
  /** Whether these were written before, so that a difference is another writer's. */
  isRepair(webhooks: unknown): boolean;
  /** How long the next repair has to wait, in milliseconds. */
  waitMs(): number;
  /** These were written just now. True when that is a repair that has been made too often, once. */
  written(webhooks: unknown): boolean;
}

export function limitRepairs(): RepairLimit {
  const backOff = createBackOff({ minMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS });
  let last: unknown;
  let lastAt = 0;
  let notBefore = 0;
  let count = 0;
  const isRepair = (webhooks: unknown) => isDeepStrictEqual(last, webhooks);

  return {
    isRepair,
    waitMs: () => Math.max(0, notBefore - performance.now()),
    written(webhooks) {
      const now = performance.now();
      if (!isRepair(webhooks) || now - lastAt > QUIET_MS) {
        backOff.reset();
        count = 0;
      }
      if (isRepair(webhooks)) {
        notBefore = now + backOff.next();
        count++;
      }
      last = webhooks;
      lastAt = now;
      return count === REPEATED;
    },
  };
}
