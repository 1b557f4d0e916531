import type { Ledger, Places } from '../../evictions/no-execute-budget.ts';
import type { ApiClient } from '../client/api-client.ts';
import { type Bounds, leaseObject } from './lease.ts';

/** The Lease beside that of the leader; the rights to it are those to a Lease, by its name. */
export function budgetLease(lease: string): string {
  return `${lease}-noexecute`;
}

/** On that Lease: by policy, the nodes that have a place, with the time of their leave. */
export const PLACES_ANNOTATION = 'taintkeeper.dev/places';

/** The ledger as the API server has it; writes carry its version, so that no place is given twice. */
export interface StoredLedger {
  readonly ledger: Ledger;
  /** Undefined where there is none yet. */
  readonly object: LedgerObject | undefined;
}

interface LedgerObject {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
}

/** The places of NoExecute budgets, in one Lease that all replicas share. */
export interface LedgerStore {
  /** @throws ApiError, but for a Lease that is not there; Error, also for a Lease that cannot be read */
  read(bounds?: Partial<Bounds>): Promise<StoredLedger>;
  /** @throws ApiError (409 when it has changed since); Error */
  write(before: StoredLedger, ledger: Ledger, bounds?: Partial<Bounds>): Promise<StoredLedger>;
}

export function ledgerStore(client: ApiClient, namespace: string, leaderLease: string): LedgerStore {
  const lease = leaseObject<LedgerObject>(client, namespace, budgetLease(leaderLease));
  return {
    async read(bounds = {}) {
      const object = await lease.read(bounds);
      return { ledger: parseLedger(object?.metadata.annotations?.[PLACES_ANNOTATION]), object };
    },
    async write({ object }, ledger, bounds = {}) {
      const annotations = { ...object?.metadata.annotations, [PLACES_ANNOTATION]: formatLedger(ledger) };
      const written = object
        ? lease.replace({ ...object, metadata: { ...object.metadata, annotations } }, bounds)
        : lease.create({ metadata: { annotations } }, bounds);
      return { ledger, object: await written };
    },
  };
}

interface WrittenPlaces {
  readonly id: string;
  /** RFC 3339; empty for a node that was found with such a taint. */
  readonly nodes: Readonly<Record<string, string>>;
}

export function formatLedger(ledger: Ledger): string {
  const written = [...ledger].map(([policy, { id, nodes }]): [string, WrittenPlaces] => {
    const times = [...nodes].map(([node, at]) => [node, at === 0 ? '' : new Date(at).toISOString()]);
    return [policy, { id, nodes: Object.fromEntries(times) }];
  });
  return JSON.stringify(Object.fromEntries(written));
}

/** @throws Error for what nobody of us wrote: what it lists may be anything, and so is not counted with */
export function parseLedger(text: string | undefined): Ledger {
  if (text === undefined) return new Map();
  try {
    const written = Object.entries(JSON.parse(text) as Readonly<Record<string, WrittenPlaces>>);
    return new Map(written.map(([policy, places]) => [policy, placesOf(places)]));
  } catch (error) {
    throw new Error(`annotation ${PLACES_ANNOTATION} cannot be read: delete that Lease`, { cause: error });
  }
}

function placesOf({ id, nodes }: WrittenPlaces): Places {
  const times = Object.entries(nodes).map(([node, at]): [string, number] => {
    const time = at === '' ? 0 : Date.parse(at);
    if (Number.isNaN(time)) throw new Error(`no time: ${at}`);
    return [node, time];
  });
  return { id, nodes: new Map(times) };
}
