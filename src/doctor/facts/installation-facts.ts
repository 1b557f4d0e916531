import type { StoredFiles } from '../../certs/stored-files.ts';
import { readWebhooks, type Webhook } from '../../cluster/admission-registration/webhook-configurations.ts';
import { readSecret } from '../../cluster/certificates/certificate-secret.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { type EndpointSlice, listEndpointSlices } from '../../cluster/installation/endpoint-slices.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { formatLabels } from '../../kubernetes/label-selector.ts';
import { isOfDeployment, type PodObject } from '../../objects/pod-object.ts';
import { type CertificateSource, certificateSources } from './certificate-source.ts';
import type { Installation } from './installation.ts';
import type { NetworkPolicyObject } from './network-policy.ts';
import { countRejected, isAlive, type PodView, viewPod } from './pod-view.ts';
import { READ_TIMEOUT_MS, type Reading, read, readingOf, readObject } from './reading.ts';

export interface ServiceObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
  };
}

/** Whether the Service leads to a name outside the cluster, and so selects no pods. */
export function isExternal(service: ServiceObject | undefined): boolean {
  return service?.spec?.type === 'ExternalName';
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
}

/** The objects of an installation. */
export interface InstallationFacts {
  /** The webhooks of both configurations. Empty if none is registered. */
  readonly webhooks: Reading<readonly Webhook[]>;
  readonly service: Reading<ServiceObject | undefined>;
  readonly slices: Reading<readonly EndpointSlice[]>;
  /** The pods that the Service selects, except those that are terminating or finished. */
  readonly pods: Reading<readonly PodView[]>;
  /** How many pods of the Service were rejected by their nodes, by reason. Empty if pods could not be listed. */
  readonly rejectedPods: ReadonlyMap<string, number>;
  readonly networkPolicies: Reading<readonly NetworkPolicyObject[]>;
  /** Of the replicas that serve. */
  readonly certificateSource: CertificateSource;
  /** The data of the Secret. Undefined if there is none, or the certificates are not in a Secret. */
  readonly secret: StoredCertificates['secret'];
  /** Of the pods that a rollout starts, if none of them is Ready yet and their certificates are elsewhere. */
  readonly pendingCertificates: StoredCertificates | undefined;
}

/** Where certificates are, and what is there. */
export interface StoredCertificates {
  readonly source: CertificateSource;
  readonly secret: Reading<StoredFiles | undefined>;
}

/** Reads the objects of an installation. A failed read is part of the result, and nothing is thrown. */
export async function gatherInstallation(
  client: ApiClient,
  { namespace, service: name, deployment }: Installation,
): Promise<InstallationFacts> {
  const [webhooks, service, slices, networkPolicies] = await Promise.all([
    read(() => readWebhooks(client, { timeoutMs: READ_TIMEOUT_MS })),
    read(() => readObject<ServiceObject>(client, namespacedPath('/api/v1', namespace, 'services', name))),
    read(() => listEndpointSlices(client, { namespace, name })),
    listOf<NetworkPolicyObject>(namespacedPath('/apis/networking.k8s.io/v1', namespace, 'networkpolicies')),
  ]);
  const podObjects = await readPods();
  const alive = podObjects.ok ? podObjects.value.filter(isAlive) : [];
  const ours = alive.filter((pod) => deployment === undefined || isOfDeployment(pod, deployment.name));
  const { serving, pending } = certificateSources(ours, deployment?.certificates);
  const [stored, storedPending] = await Promise.all([readStored(serving), pending && readStored(pending)]);
  return {
    webhooks,
    service,
    slices,
    pods: podObjects.ok ? readingOf(alive.map(viewPod)) : podObjects,
    rejectedPods: countRejected(podObjects.ok ? podObjects.value : []),
    networkPolicies,
    certificateSource: stored.source,
    secret: stored.secret,
    pendingCertificates: storedPending,
  };

  async function readPods(): Promise<Reading<readonly PodObject[]>> {
    if (!service.ok) return service;
    const labels = formatLabels(service.value?.spec?.selector ?? {});
    // A Service without a selector selects no pods, but an empty label selector selects all.
    if (labels === '') return readingOf([]);
    return listOf<PodObject>(namespacedPath('/api/v1', namespace, 'pods'), labels);
  }

  async function readStored(source: CertificateSource): Promise<StoredCertificates> {
    const { secret } = source;
    if (secret === undefined) return { source, secret: readingOf(undefined) };
    const stored = await read(async () => {
      const { files, resourceVersion } = await readSecret(client, { namespace, name: secret });
      return resourceVersion === undefined ? undefined : files;
    });
    return { source, secret: stored };
  }

  function listOf<T>(path: string, labelSelector?: string): Promise<Reading<readonly T[]>> {
    return read(() => listObjects(client, path, (object) => object as T, { labelSelector }));
  }
}
