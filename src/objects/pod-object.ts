import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { DNS_SUBDOMAIN_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import type { Path } from '../policy/problem.ts';
import type { PodScheduling } from '../scheduling/coverage.ts';
import { asObject, asPod, podSchedulingOf, writtenDirectories } from './pod-schema.ts';

/**
 * The fields of a Pod of core/v1 that are only read from the API server. It may have any field that the API server allows. A Pod is cast to this type:
 * see {@link reader}. The functions below that take a path read fields that files have as well, and check them.
 */
export interface PodObject {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: StringMap;
    readonly annotations?: StringMap;
    readonly ownerReferences?: readonly PodOwner[];
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly tolerations?: readonly Toleration[] | null;
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms?: readonly {
            readonly matchFields?: readonly { readonly key: string; readonly values?: readonly string[] }[];
          }[];
        };
      };
    };
    readonly containers?: readonly {
      readonly image?: string;
      readonly args?: readonly string[];
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
    readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName?: string } }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly {
      readonly restartCount?: number;
      readonly state?: {
        readonly waiting?: { readonly reason?: string };
        readonly terminated?: { readonly reason?: string };
      };
    }[];
  };
}

/** The label that a Deployment gives its pods and ReplicaSets (DefaultDeploymentUniqueLabelKey of k8s.io/api/apps/v1). */
const TEMPLATE_HASH_LABEL = 'pod-template-hash';

interface PodOwner {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid: string;
  readonly controller?: boolean;
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/**
 * The controller that creates another pod in place of this one. An owner with a longer text does not exist: the API server does not limit these texts,
 * and what is kept of many pods must be small.
 */
export function podOwner({ metadata }: Pick<PodObject, 'metadata'>): PodOwner | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const { apiVersion = '', kind = '', name = '', uid = '' } = owner ?? {};
  return [apiVersion, kind, name, uid].every(({ length }) => length <= QUALIFIED_NAME_LENGTH) ? owner : undefined;
}

/**
 * Whether the Deployment of this name has created the pod. True for a pod without a controller, of which only the labels are known. The name of a
 * ReplicaSet: `generateReplicaSetName` of k8s.io/kubernetes/pkg/controller/deployment/sync.go.
 */
export function isOfDeployment(pod: Pick<PodObject, 'metadata'>, name: string): boolean {
  const owner = podOwner(pod);
  if (owner === undefined) return true;
  const suffix = `-${pod.metadata.labels?.[TEMPLATE_HASH_LABEL] ?? ''}`;
  return owner.kind === 'ReplicaSet' && owner.name === name.slice(0, DNS_SUBDOMAIN_LENGTH - suffix.length) + suffix;
}

/** The condition, if it has this status. */
export function podCondition(
  { status }: Pick<PodObject, 'status'>,
  type: 'Ready' | 'PodScheduled',
  is: 'True' | 'False',
): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type && condition.status === is);
}

export function isReady(pod: Pick<PodObject, 'status'>): boolean {
  return podCondition(pod, 'Ready', 'True') !== undefined;
}

/** Its containers have ended, and no others will start in it. */
export function isFinished({ status }: Pick<PodObject, 'status'>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** It is being deleted. */
export function isTerminating({ metadata }: Pick<PodObject, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Where a single pod may run.
 * @throws MalformedObjectError
 */
export function viewPodScheduling(value: unknown, path: Path): PodScheduling {
  return podSchedulingOf(asPod(value, path).spec);
}

/**
 * The directories of the node that a pod mounts to write to.
 * @throws MalformedObjectError
 */
export function viewPodWrites(value: unknown, path: Path): readonly string[] {
  return writtenDirectories(asPod(value, path).spec);
}

/**
 * Whether a pod uses devices of Dynamic Resource Allocation.
 * @throws MalformedObjectError
 */
export function hasResourceClaims(value: unknown, path: Path): boolean {
  return (asPod(value, path).spec.resourceClaims ?? []).length > 0;
}

/** Kubelets set it on the mirror of a static pod (k8s.io/api/core/v1, MirrorPodAnnotationKey). */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/**
 * Whether a pod is the mirror of a static pod.
 * @throws MalformedObjectError
 */
export function isMirrorPod(value: unknown, path: Path): boolean {
  return ownValue(asObject(value, path).metadata.annotations ?? {}, MIRROR_ANNOTATION) !== undefined;
}
