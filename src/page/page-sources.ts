import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import type { ClusterState } from '../controllers/cluster-state.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import type { Check } from '../server/admin-server.ts';
import type { CertificateState, Leader, PageState, PolicyState, WebhookState } from './state.ts';

/** Sources of what the page shows. They are read when there are clients. */
export interface PageSources {
  /**
   * The time by the API server's clock, which is that of conditions and of the certificate's client. Without a cluster, the local time. All
   * times on the page are by this clock.
   */
  readonly now: () => Date;
  readonly replica: string;
  readonly mode: PageState['mode'];
  readonly audit: boolean;
  readonly leader: () => Leader;
  readonly checks: () => readonly Check[];
  readonly certificate: () => CertificateState | undefined;
  readonly webhooks: () => readonly WebhookState[];
  readonly policies: () => readonly PolicyState[];
  /** What only the leader knows, on the leader. */
  readonly cluster: () => LeaderSources | undefined;
  /** Absent in standalone mode. */
  readonly objects?: ClusterObjects;
}

/** What a replica reads from the API server, and watches there. */
export interface ClusterObjects {
  /** An object as it is now; @throws ApiError */
  readonly read: (path: string) => Promise<unknown>;
  readonly policies: () => readonly PolicyObject[];
}

/** What the leader evaluates nodes and coverage from. */
export interface LeaderSources {
  readonly clusterState: ClusterState;
  readonly compiled: PolicySet;
}
