import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { MIRROR_ANNOTATION, type PodObject } from '../../objects/pod-object.ts';

/** An API server that runs as a static pod. */
export interface ApiServerPod {
  readonly node: string;
  /** Whether kubeadm set it up. */
  readonly kubeadm: boolean;
}

/** kubeadm writes it into the manifest of the API server. */
const KUBEADM_ANNOTATION = 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint';

/**
 * The API servers among the mirrors of static pods, by the labels that kubeadm and Talos give them.
 * @throws ApiError, Error
 */
export async function listApiServerPods(client: ApiClient): Promise<ApiServerPod[]> {
  const pods = await listObjects(client, '/api/v1/namespaces/kube-system/pods', (object) => object as PodObject, {
    labelSelector: 'tier=control-plane',
  });
  return pods.flatMap(({ metadata: { labels = {}, annotations = {} }, spec }) => {
    const isApiServer = [labels.component, labels['k8s-app']].includes('kube-apiserver');
    if (!isApiServer || annotations[MIRROR_ANNOTATION] === undefined || !spec?.nodeName) return [];
    return [{ node: spec.nodeName, kubeadm: annotations[KUBEADM_ANNOTATION] !== undefined }];
  });
}
