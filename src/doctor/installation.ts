import type { ApiClient } from '../cluster/client/api-client.ts';
import { read } from './reading.ts';

/** Where taintkeeper is said to be. */
export interface Place {
  readonly namespace: string;
  /** By which the API server reaches it. */
  readonly service: string;
  /** With the certificates that it issues. */
  readonly secret: string;
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

/** The Deployment that the manifests install. */
const DEPLOYMENT = 'taintkeeper';

interface Deployment {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName?: string;
        readonly containers: readonly { readonly args?: readonly string[] }[];
      };
    };
  };
}

/** How taintkeeper is installed. Where there is no Deployment, or none that may be read: as the manifests do it. */
export async function readInstallation(
  client: ApiClient,
  { namespace, service, secret }: Place,
): Promise<Installation> {
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments/${DEPLOYMENT}`;
  const reading = await read(() => client.request<Deployment>('GET', path));
  const installation = { namespace, service, account: DEPLOYMENT, lease: DEPLOYMENT, helmRelease: undefined };
  if (!reading.ok) {
    return { ...installation, secret, defaultPolicies: undefined, audit: false, ownerClusterRole: undefined };
  }
  const { metadata, spec } = reading.value;
  const { serviceAccountName = 'default', containers } = spec.template.spec;
  const args = containers.flatMap(({ args = [] }) => args);
  return {
    ...installation,
    account: serviceAccountName,
    lease: option(args, 'lease') ?? installation.lease,
    secret: option(args, 'cert-dir') === undefined ? (option(args, 'secret') ?? secret) : undefined,
    defaultPolicies: option(args, 'default-policies'),
    audit: args.includes('--audit'),
    ownerClusterRole: option(args, 'owner-cluster-role'),
    helmRelease: metadata.annotations?.['meta.helm.sh/release-name'],
  };
}

function option(args: readonly string[], name: string): string | undefined {
  const prefix = `--${name}=`;
  return args.find((arg) => arg.startsWith(prefix))?.slice(prefix.length);
}
