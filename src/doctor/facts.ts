import type { ClusterFacts } from './cluster-facts.ts';
import type { Dialled } from './dial.ts';
import type { Installation, Search } from './installation.ts';
import type { ReplicaFacts } from './replicas.ts';
import type { ServiceFacts } from './service-facts.ts';

/** All that the checks go by: it is gathered once, and nothing else is asked for. */
export interface Facts extends ServiceFacts, ClusterFacts {
  /** What came of looking for taintkeeper. */
  readonly search: Search;
  /** The one of them that all else is about. */
  readonly installation: Installation;
  /** The name that the API server asks for in the TLS handshake. */
  readonly serverName: string;
  /** This machine's clock. */
  readonly now: Date;
  /** How far the API server's clock is ahead of this machine's, in milliseconds. */
  readonly apiServerAheadMs: number | undefined;
  readonly replicas: readonly ReplicaFacts[];
  /** Who answers at the Service's own address, by several connections: each may lead to another replica. */
  readonly overService: readonly Dialled[];
}

/** The time by the clock of who checks the certificates: the API server's. */
export function trustedTime({ now, apiServerAheadMs = 0 }: Pick<Facts, 'now' | 'apiServerAheadMs'>): Date {
  return new Date(now.getTime() + apiServerAheadMs);
}
