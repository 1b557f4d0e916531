import type { RealCluster, RealClusterOptions } from '../real-cluster.ts';

/** A cluster of two nodes with the product on it, as an outage finds it. */
export interface Site {
  readonly cluster: RealCluster;
  /** The node whose replica the API server calls, and no other. */
  readonly called: string;
}

/** One thing that goes wrong. */
export interface Outage {
  readonly name: string;
  /** What is done, for the table. */
  readonly what: string;
  /** The replica to have called: the one that leads, the other one, or that of the second node, which has no control plane. */
  readonly called: 'leader' | 'other' | 'n2';
  /** The node whose replica is to lead; without one, it is left to them. */
  readonly leads?: 'n2';
  readonly kubeletConfig?: RealClusterOptions['kubeletConfig'];
  /** Installs the product, if not by manifests/install.yaml, and waits until it protects. */
  install?(cluster: RealCluster): Promise<void>;
  /** Does the harm, waits for as long as it lasts, and ends it. What never ends (a crash) is over at once. */
  run(site: Site): Promise<void>;
}
