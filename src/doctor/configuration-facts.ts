import type { PolicyObject } from '../cluster/policies.ts';
import type { DaemonSetView } from '../judge/daemon-set.ts';
import type { NodeView } from '../judge/node-view.ts';
import type { OptionalRight } from '../policy/backstop.ts';
import type { Policy } from '../policy/policy.ts';
import type { Reading } from './reading.ts';

/** A node, as the policies see it, and what runs on it. */
export interface DoctorNode extends NodeView {
  /** `status.nodeInfo.kubeletVersion`, such as `v1.36.3`; empty where it has not reported yet. */
  readonly kubeletVersion: string;
}

/** A webhook of a Mutating- or ValidatingWebhookConfiguration, as the API server gives it: all defaults are filled in. */
export interface RegisteredWebhook {
  readonly name: string;
  readonly clientConfig?: {
    readonly service?: { readonly namespace: string; readonly name: string };
    readonly url?: string;
  };
  readonly rules?: readonly WebhookRule[] | null;
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly objectSelector?: object | null;
  readonly matchConditions?: readonly unknown[] | null;
}

export interface WebhookRule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
  readonly scope?: string;
}

export interface RegisteredConfiguration {
  readonly resource: 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations';
  readonly name: string;
  readonly webhooks: readonly RegisteredWebhook[];
}

/** How taintkeeper is installed, as its Deployment says. */
export interface Installation {
  readonly namespace: string;
  readonly service: string;
  /** Its service account. */
  readonly account: string;
  readonly lease: string;
  /** Where it keeps the certificates that it issues; undefined where they are somebody else's. */
  readonly secret: string | undefined;
  /** The ConfigMap with default policies, if there is one. */
  readonly defaultPolicies: string | undefined;
  /** Whether it takes every policy to be in mode Audit. */
  readonly audit: boolean;
  /** The ClusterRole that owns the webhook configurations, if one does. */
  readonly ownerClusterRole: string | undefined;
  /** Undefined where it was not installed by Helm. */
  readonly helmRelease: string | undefined;
}

/** A right of the service account, for each of the verbs. */
export interface Right {
  /** '' for the core group. */
  readonly group: string;
  /** With the subresource: `taintpolicies/status`. */
  readonly resource: string;
  /** Undefined for all of them. */
  readonly name?: string;
  /** Undefined for what is in no namespace, or in all. */
  readonly namespace?: string;
  readonly verbs: readonly string[];
}

/** How the API server answered when it was asked for the rights. */
export interface RightsReview {
  readonly user: string;
  readonly asked: number;
  /** What it may not do; a right is there with those verbs that are missing. */
  readonly lacking: readonly Right[];
  /** What it may not do of that which only some policies ask for. */
  readonly notPermitted: readonly OptionalRight[];
}

/** The Lease, looked at for some seconds. Clocks play no part: one that is renewed changes. */
export interface LeaseWatch {
  /** Undefined: there is no Lease. '': it was given up. */
  readonly holder: string | undefined;
  readonly renewed: boolean;
  /** By the holder's clock. */
  readonly renewTime: string | undefined;
  readonly watchedSeconds: number;
}

/** All that the configuration checks look at. */
export interface ConfigurationFacts {
  readonly installation: Installation;
  readonly policies: Reading<readonly PolicyObject[]>;
  /** Those that come with the program. */
  readonly builtin: readonly Policy[];
  readonly nodes: Reading<readonly DoctorNode[]>;
  readonly daemonSets: Reading<readonly DaemonSetView[]>;
  readonly webhooks: Reading<readonly RegisteredConfiguration[]>;
  readonly rights: Reading<RightsReview>;
  readonly lease: Reading<LeaseWatch>;
  /** `gitVersion` of the API server. */
  readonly version: Reading<string>;
  /** The API server's metrics, in Prometheus' text format. */
  readonly metrics: Reading<string>;
}
