import type { Search } from './choose-installation.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import type { Dialled } from './dial.ts';
import type { Installation } from './installation.ts';
import type { InstallationFacts } from './installation-facts.ts';
import type { ReplicaFacts } from './replica-facts.ts';

/** All facts that the checks read. They are gathered once. */
export interface Facts extends InstallationFacts, ClusterFacts {
  readonly search: Search;
  /** The installation that all other facts are about. */
  readonly installation: Installation;
  /** The server name of the API server's TLS handshake. */
  readonly serverName: string;
  /** The URL by which this machine calls the API server. */
  readonly apiServerUrl: string;
  /** This machine's clock. */
  readonly now: Date;
  /** How far the API server's clock is ahead of this machine's, in milliseconds. Undefined if it did not say. */
  readonly apiServerAheadMs: number | undefined;
  readonly replicas: readonly ReplicaFacts[];
  /** Several connections to the Service's own address: each may reach another replica. */
  readonly overService: readonly Dialled[];
}

/** The time by the API server's clock, because the API server verifies the certificates. */
export function trustedTime({ now, apiServerAheadMs = 0 }: Pick<Facts, 'now' | 'apiServerAheadMs'>): Date {
  return new Date(now.getTime() + apiServerAheadMs);
}
