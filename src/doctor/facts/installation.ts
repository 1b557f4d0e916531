import { OWN_ACCOUNT, OWN_SERVICE } from '../../cluster/installation/own-names.ts';
import { RELEASE_ANNOTATION } from '../../kubernetes/helm.ts';
import { ownValue, type StringMap } from '../../kubernetes/label-selector.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { DEFAULT_SERVICE_ACCOUNT } from '../../kubernetes/system-users.ts';
import type { PodObject } from '../../objects/pod-object.ts';
import { type CertificateSource, certificateSource } from './certificate-source.ts';
import { argument } from './serve-arguments.ts';

/** How taintkeeper is installed, by its Deployment. */
export interface Installation {
  readonly namespace: string;
  readonly service: string;
  /** Undefined if there is none, or the user may not read it. */
  readonly deployment: InstalledDeployment | undefined;
  /** Its service account. */
  readonly account: string;
  /** The ConfigMap with default policies, if there is one. */
  readonly defaultPolicies: string | undefined;
  /** Whether it runs with `--audit`. */
  readonly audit: boolean;
  /** The ClusterRole that owns the webhook configurations, if one does. */
  readonly ownerClusterRole: string | undefined;
  /** Undefined if it was not installed by Helm. */
  readonly helmRelease: string | undefined;
}

/** The Deployment. */
export interface InstalledDeployment {
  readonly name: string;
  readonly replicas: number;
  /** The labels by which the Deployment selects its pods. */
  readonly selector: StringMap;
  /** All labels of its pods. */
  readonly labels: StringMap;
  /** Where its pods read their certificates, by its template. */
  readonly certificates: CertificateSource;
}

/** A Deployment with the label of taintkeeper. */
export interface DeploymentObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: StringMap;
  };
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: StringMap };
    readonly template: {
      readonly metadata?: { readonly labels?: StringMap };
      readonly spec: NonNullable<PodObject['spec']> & { readonly serviceAccountName?: string };
    };
  };
}

/** How taintkeeper is installed, by its Deployment. */
export function viewInstallation({ metadata, spec }: DeploymentObject): Installation {
  const { serviceAccountName = DEFAULT_SERVICE_ACCOUNT, containers = [] } = spec.template.spec;
  const args = containers.flatMap(({ args = [] }) => args);
  /** Of the first container that has it: containers that users add come after ours. */
  const option = (name: string) =>
    containers.map(({ args = [] }) => argument(args, name)).find((one) => one !== undefined);
  // Anyone who may create a Deployment may give it the label. What cannot be a name would get into commands and paths.
  const named = (name: string) => [option(name)].find((one) => one !== undefined && isDnsSubdomain(one));
  return {
    namespace: metadata.namespace ?? '',
    service: OWN_SERVICE,
    deployment: {
      name: metadata.name,
      replicas: spec.replicas ?? 1,
      selector: spec.selector?.matchLabels ?? {},
      labels: spec.template.metadata?.labels ?? {},
      certificates: certificateSource(spec.template.spec),
    },
    account: serviceAccountName,
    defaultPolicies: named('default-policies'),
    audit: args.includes('--audit'),
    ownerClusterRole: option('owner-cluster-role'),
    helmRelease: ownValue(metadata.annotations ?? {}, RELEASE_ANNOTATION),
  };
}

/** An installation without a known Deployment, with the names of the manifests. */
export function asTheManifests({ namespace, service }: Pick<Installation, 'namespace' | 'service'>): Installation {
  return {
    namespace,
    service,
    deployment: undefined,
    account: OWN_ACCOUNT,
    defaultPolicies: undefined,
    audit: false,
    ownerClusterRole: undefined,
    helmRelease: undefined,
  };
}
