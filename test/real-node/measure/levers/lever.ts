import type { RealCluster } from '../../real-cluster.ts';

/** Something that can be set otherwise, to see what it does for those whose requests go to a node that is gone. */
export interface Lever {
  readonly name: string;
  /** What differs from the defaults, for the table. */
  readonly what: string;
  /** Who sends requests: so many at once, each so often. What comes at once takes as many connections of the API server. */
  readonly load: { readonly clients: number; readonly perSecond: number };
  /** Sets it, on a cluster with the product on it. */
  set(cluster: RealCluster): Promise<void>;
  /** The node whose replica is called when the second one is lost. */
  readonly called: 'n1' | 'n2';
  /** Whether to wait until the lost replica has been replaced. Otherwise it is over once nobody is led to it any more. */
  readonly untilReplaced?: boolean;
}
