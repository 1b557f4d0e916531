import type { ApiClient } from '../../cluster/client/api-client.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { OWN_ACCOUNT, OWN_LABEL, OWN_LEASE, OWN_NAMESPACE, OWN_SERVICE } from '../../cluster/installation/own-names.ts';
import { boundNamespaces, calledService } from '../../cluster/installation/own-namespaces.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { RELEASE_ANNOTATION } from '../../coverage/workload.ts';
import { ownValue, type StringMap } from '../../kubernetes/label-selector.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import type { PodObject } from '../../objects/pod-object.ts';
import { type CertificateSource, certificateSource } from './certificate-source.ts';
import { READ_TIMEOUT_MS, type Reading, read, readingOf, readObject } from './reading.ts';
import { argument } from './serve-arguments.ts';

/** What the user said about the installation, by options. */
export interface InstallationChoice {
  readonly namespace?: string | undefined;
}

/** How taintkeeper is installed, by its Deployment. */
export interface Installation {
  readonly namespace: string;
  readonly service: string;
  /** Undefined if there is none, or the user may not read it. */
  readonly deployment: InstalledDeployment | undefined;
  /** Its service account. */
  readonly account: string;
  /** Its Lease, which has the name of the Service. */
  readonly lease: string;
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

/** The result of the search for taintkeeper in the cluster. */
export interface Search {
  readonly choice: InstallationChoice;
  /** All installations, {@link Search.chosen} first. */
  readonly found: readonly Installation[];
  /** What has only the labels of taintkeeper, which every user who may create a Deployment can set. */
  readonly unconfirmed: readonly Installation[];
  /** The installation to check. Undefined if there is none. */
  readonly chosen: Installation | undefined;
  /** Why some installations may not have been found. */
  readonly blind: string | undefined;
}

interface Deployment {
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

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/**
 * Finds taintkeeper by the label of its Deployments and Services, and by the Service that the registered webhooks call. Searches all
 * namespaces or, without the right to list those, the ones where taintkeeper may be. The user, the webhooks, the ClusterRoleBinding or the own pod
 * must confirm its namespace: the checks print commands for an administrator. Nothing is thrown.
 */
export async function findInstallation(client: ApiClient, choice: InstallationChoice): Promise<Search> {
  const limit = { timeoutMs: READ_TIMEOUT_MS };
  const [called, bound] = await Promise.all([
    read(() => calledService(client, limit)),
    read(() => boundNamespaces(client, limit)),
  ]);
  const call = called.ok ? called.value : undefined;
  const confirmed = [choice.namespace, call?.namespace, client.namespace, ...(bound.ok ? bound.value : [])];
  const likely = [...confirmed, OWN_NAMESPACE].filter((one) => one !== undefined);
  const namespaces = [...new Set(likely)];
  const [deployments, services] = await Promise.all([
    labelled<Deployment>(client, '/apis/apps/v1', 'deployments', namespaces),
    servicesIn(client, call?.name ?? OWN_SERVICE, namespaces),
  ]);
  const labelledAsOurs = (deployments.ok ? deployments.value : []).map(viewInstallation);
  const has = ({ namespace, service }: { namespace: string; service: string }) =>
    labelledAsOurs.some((one) => one.namespace === namespace && one.service === service);
  for (const { metadata } of services.ok ? services.value : []) {
    const place = { namespace: metadata.namespace ?? '', service: metadata.name };
    if (!has(place)) labelledAsOurs.push(asTheManifests(place));
  }
  const isConfirmed = ({ namespace }: Installation) => confirmed.includes(namespace);
  const found = labelledAsOurs.filter(isConfirmed);
  const unconfirmed = labelledAsOurs.filter((one) => !isConfirmed(one));
  const isCalled = ({ namespace, service }: Installation) => namespace === call?.namespace && service === call.name;
  const fitsChoice = ({ namespace }: Installation) => namespace === (choice.namespace ?? namespace);
  const matching = found.filter(fitsChoice);
  const blind = !deployments.ok ? deployments.why : services.ok ? undefined : services.why;
  const chosen = matching.find(isCalled) ?? matching[0] ?? guess();
  return {
    ...{ choice, chosen, blind, unconfirmed },
    found: found.toSorted((a, b) => Number(b === chosen) - Number(a === chosen)),
  };

  /** The installation to check although it was not found: what the user named, what webhooks call, or what the user may not list. */
  function guess(): Installation | undefined {
    const [first] = found;
    const isHere = choice.namespace === undefined || choice.namespace === call?.namespace;
    if (call && isHere && first === undefined) {
      return asTheManifests({ namespace: call.namespace, service: call.name });
    }
    if (blind === undefined) return undefined;
    return asTheManifests({ namespace: choice.namespace ?? client.namespace ?? OWN_NAMESPACE, service: OWN_SERVICE });
  }
}

/** Lists in all namespaces or, without the right to that, in these. */
async function labelled<T>(
  client: ApiClient,
  group: string,
  resource: string,
  namespaces: readonly string[],
): Promise<Reading<readonly T[]>> {
  const query = { labelSelector: OWN_LABEL };
  const listed = (path: string) => read(() => listObjects(client, path, (object) => object as T, query));
  const all = await listed(`${group}/${resource}`);
  if (all.ok) return all;
  const parts = await Promise.all(namespaces.map((namespace) => listed(namespacedPath(group, namespace, resource))));
  const seen = parts.flatMap((part) => (part.ok ? part.value : []));
  return seen.length > 0 ? readingOf(seen) : all;
}

/** A user who may not list Services, such as taintkeeper itself, may still get one by its name. */
async function servicesIn(
  client: ApiClient,
  name: string,
  namespaces: readonly string[],
): Promise<Reading<readonly Named[]>> {
  const services = await labelled<Named>(client, '/api/v1', 'services', namespaces);
  if (services.ok) return services;
  const objects = await Promise.all(
    namespaces.map((namespace) =>
      read(() => readObject<Named>(client, namespacedPath('/api/v1', namespace, 'services', name))),
    ),
  );
  const seen = objects.flatMap((one) => (one.ok && one.value ? [one.value] : []));
  return seen.length > 0 ? readingOf(seen) : services;
}

function viewInstallation({ metadata, spec }: Deployment): Installation {
  const { serviceAccountName = 'default', containers = [] } = spec.template.spec;
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
    lease: OWN_LEASE,
    defaultPolicies: named('default-policies'),
    audit: args.includes('--audit'),
    ownerClusterRole: option('owner-cluster-role'),
    helmRelease: ownValue(metadata.annotations ?? {}, RELEASE_ANNOTATION),
  };
}

/** An installation without a known Deployment, with the names of the manifests. */
function asTheManifests({ namespace, service }: Pick<Installation, 'namespace' | 'service'>): Installation {
  return {
    namespace,
    service,
    deployment: undefined,
    account: OWN_ACCOUNT,
    lease: service,
    defaultPolicies: undefined,
    audit: false,
    ownerClusterRole: undefined,
    helmRelease: undefined,
  };
}
