import type { OptionalRight } from '../policy/backstop.ts';
import type { ApiClient } from './client/api-client.ts';
import { isForbidden, isNotFound } from './client/api-error.ts';
import { NATIVE_RESOURCES } from './native-policies.ts';

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/**
 * Our uid: for a service account, another one after each installation. Everybody may ask, unless a cluster has taken that away.
 * @returns undefined for users that have none, such as those with client certificates, and where nobody may ask
 * @throws ApiError and others, as the client does
 */
export async function ownUid(client: ApiClient): Promise<string | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const { status } = await client.request<{ status?: { userInfo?: { uid?: string } } }>('POST', PATH, { body });
    return status?.userInfo?.uid || undefined;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

/** A dry-run AdmissionReview that no policy is about: it changes nothing, and whoever answers it is a webhook that works. */
export interface SelfCheckReview {
  readonly body: string;
  /** Why the answer to it is none, or undefined if it is one. */
  refusal(status: number | undefined, answer: unknown): string | undefined;
}

export function selfCheckReview(): SelfCheckReview {
  const uid = `taintkeeper-self-check-${Date.now()}`;
  return {
    body: JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid,
        resource: { group: 'taintkeeper.dev', version: 'v1alpha1', resource: 'selfchecks' },
        operation: 'CREATE',
        userInfo: {},
        dryRun: true,
      },
    }),
    refusal(status, answer) {
      // It takes calls from known clients only, which we are not.
      if (status === 401) return undefined;
      const answered = (answer as { response?: { uid?: string } } | undefined)?.response?.uid;
      return status === 200 && answered === uid ? undefined : `it answered ${status}`;
    },
  };
}

/** What a right is to the API server, and who grants it. */
export interface RightRules {
  /** The value of the chart that grants it. */
  readonly value: 'nativePolicies' | 'patchDaemonSets' | 'recoverPods' | 'listPods' | 'listNodePools' | 'writeReports';
  /** The same for kubectl: a file of the repository. */
  readonly manifest: string;
  /** In words, after "permission to". */
  readonly to: string;
  /** '' for the core group. */
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export const OPTIONAL_RIGHTS: Readonly<Record<OptionalRight, RightRules>> = {
  nativePolicies: {
    value: 'nativePolicies',
    manifest: 'manifests/rights/native-policies.yaml',
    to: 'write admission policies',
    group: 'admissionregistration.k8s.io',
    resources: Object.values(NATIVE_RESOURCES),
    verbs: ['get', 'create', 'update', 'delete'],
  },
  patchDaemonSets: {
    value: 'patchDaemonSets',
    manifest: 'manifests/rights/patch-daemon-sets.yaml',
    to: 'patch DaemonSets',
    group: 'apps',
    resources: ['daemonsets'],
    verbs: ['patch'],
  },
  watchPods: {
    value: 'recoverPods',
    manifest: 'manifests/rights/recover-pods.yaml',
    to: 'list and watch pods',
    group: '',
    resources: ['pods'],
    verbs: ['list', 'watch'],
  },
  deletePods: {
    value: 'recoverPods',
    manifest: 'manifests/rights/recover-pods.yaml',
    to: 'delete pods',
    group: '',
    resources: ['pods'],
    verbs: ['delete'],
  },
  listPods: {
    value: 'listPods',
    manifest: 'manifests/rights/list-pods.yaml',
    to: 'list pods',
    group: '',
    resources: ['pods'],
    verbs: ['list'],
  },
  listNodePools: {
    value: 'listNodePools',
    manifest: 'manifests/rights/list-node-pools.yaml',
    to: 'list NodePools',
    group: 'karpenter.sh',
    resources: ['nodepools'],
    verbs: ['list'],
  },
  listMachineDeployments: {
    value: 'listNodePools',
    manifest: 'manifests/rights/list-node-pools.yaml',
    to: 'list MachineDeployments and MachineSets',
    group: 'cluster.x-k8s.io',
    resources: ['machinedeployments', 'machinesets'],
    verbs: ['list'],
  },
  writeReports: {
    value: 'writeReports',
    manifest: 'manifests/rights/write-reports.yaml',
    to: 'write ClusterReports',
    group: 'openreports.io',
    resources: ['clusterreports'],
    verbs: ['list', 'create', 'update', 'delete'],
  },
};
export const OPTIONAL_RIGHT_NAMES = Object.keys(OPTIONAL_RIGHTS) as OptionalRight[];

/** What is missing and who grants it, in one sentence; `by` is what asks for it, such as `existing: Patch`. */
export function notPermitted(right: OptionalRight, by: string): string {
  return `${by} needs permission to ${OPTIONAL_RIGHTS[right].to}, which taintkeeper does not have: ${howToPermit(right)}`;
}

export function howToPermit(right: OptionalRight): string {
  const { value, manifest } = OPTIONAL_RIGHTS[right];
  return `set ${value}: true in the chart's values, or kubectl apply -f ${manifest}`;
}

/**
 * Whether whoever asks has the right, with all its verbs and resources. Where the API server does not say: true, so that it is tried.
 * @throws ApiError, Error
 */
export async function isPermitted(client: ApiClient, right: OptionalRight): Promise<boolean> {
  const { group, resources, verbs } = OPTIONAL_RIGHTS[right];
  const asked = resources.flatMap((name) => {
    const [resource, subresource] = name.split('/');
    return verbs.map((verb) => ({ group, resource, ...(subresource ? { subresource } : {}), verb }));
  });
  try {
    const answers = await Promise.all(
      asked.map((resourceAttributes) =>
        client.request<{ status?: { allowed?: boolean } }>(
          'POST',
          '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          {
            body: {
              apiVersion: 'authorization.k8s.io/v1',
              kind: 'SelfSubjectAccessReview',
              spec: { resourceAttributes },
            },
          },
        ),
      ),
    );
    return answers.every(({ status }) => status?.allowed ?? false);
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}
