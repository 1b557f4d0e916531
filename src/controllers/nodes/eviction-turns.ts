import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import { rateIn, waitInZone, type Zone, zonesOf } from '../../evictions/eviction-pace.ts';
import type { Nodes } from '../sources.ts';

export interface EvictionTurnsOptions {
  readonly client: Pick<ApiClient, 'now'>;
  readonly nodes: Pick<Nodes, 'entries'>;
  /** Nodes a second in each zone. */
  readonly evictionRate: number;
}

/** Which node of a zone gets a taint that evicts pods: one node after the other. */
export interface EvictionTurns {
  /** The zones by name, as their nodes are now. */
  zones(): ReadonlyMap<string, Zone>;
  /** Whether a node of the zone is having its turn. */
  isTaken(name: string): boolean;
  /** In how many milliseconds the next may have it; Infinity: none may, or one is having it. */
  waitMs(name: string, zone: Zone): number;
  /** Ends what it returns, with whether pods had to go. */
  take(name: string): (used: boolean) => void;
}

export function evictionTurns({ client, nodes, evictionRate }: EvictionTurnsOptions): EvictionTurns {
  /** Zones in which a node is having its turn. */
  const taken = new Set<string>();
  /** When this process last evicted in a zone, by performance.now(). What was before it, nodes say. */
  const last = new Map<string, number>();

  function lastIn(name: string, { lastAt }: Zone): number | undefined {
    const before = lastAt === undefined ? undefined : performance.now() - (client.now().getTime() - lastAt);
    return last.get(name) ?? before;
  }

  function* views(): Iterable<ClusterNode> {
    for (const { value } of nodes.entries()) yield value;
  }

  return {
    zones: () => zonesOf(views(), client.now().getTime()),
    isTaken: (name) => taken.has(name),
    waitMs(name, zone) {
      if (taken.has(name)) return Number.POSITIVE_INFINITY;
      return waitInZone(rateIn(zone, evictionRate), lastIn(name, zone), performance.now());
    },
    take(name) {
      taken.add(name);
      return (used) => {
        if (used) last.set(name, performance.now());
        taken.delete(name);
      };
    },
  };
}
