import { POLICY_API_GROUP } from '../../policy/policy.ts';
import type { OptionalRight } from '../../policy/required-rights.ts';
import { NATIVE_RESOURCES } from '../admission-registration/native-policies.ts';
import { CONFIGURATIONS } from '../admission-registration/webhook-configurations.ts';
import { POLICY_RESOURCES } from '../policies/policy-paths.ts';

/** A rule of RBAC: every verb for every resource. */
export interface Rule {
  /** '' for the core group. */
  readonly group: string;
  /** With the subresource: `taintpolicies/status`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Why taintkeeper needs it, in Markdown with links from docs/. */
  readonly why: string;
}

/** The names of an installation. Undefined: the installation has no such object. */
export interface NamedObjects {
  readonly namespace: string;
  readonly service: string;
  readonly lease: string;
  /** The Secret of certificates that taintkeeper issues. */
  readonly secret: string | undefined;
  readonly defaultPolicies: string | undefined;
  readonly ownerClusterRole: string | undefined;
}

/** A rule of every installation, except for one without an object of the kind. */
export interface NeededRule extends Rule {
  /** Only for the object of this name. */
  readonly named?: keyof NamedObjects | 'configurations';
  /** Only if the installation has such an object. */
  readonly only?: keyof NamedObjects;
}

const POLICIES = Object.values(POLICY_RESOURCES);
const WEBHOOKS = Object.values(CONFIGURATIONS).map(({ resource }) => resource);
const NATIVES = Object.values(NATIVE_RESOURCES);

/** The rights of the service account for any policies: the source of the chart's roles, of docs/reference/rights.md and of doctor's check. */
export const NEEDED_RULES: Readonly<Record<'cluster' | 'namespace', readonly NeededRule[]>> = {
  cluster: [
    {
      group: POLICY_API_GROUP,
      resources: POLICIES,
      verbs: ['get', 'list', 'watch'],
      why: 'taintkeeper enforces the policies.',
    },
    {
      group: POLICY_API_GROUP,
      resources: POLICIES,
      verbs: ['create'],
      only: 'defaultPolicies',
      why: 'The leader creates the default policies.',
    },
    {
      group: POLICY_API_GROUP,
      resources: POLICIES.map((resource) => `${resource}/status`),
      verbs: ['patch'],
      why: 'The leader writes into their status what they match, and whether they are in force.',
    },
    {
      group: '',
      resources: ['nodes'],
      verbs: ['get', 'list', 'watch', 'patch'],
      why: 'The leader sets missing taints, and removes startup taints.',
    },
    {
      group: 'apps',
      resources: ['daemonsets'],
      verbs: ['get', 'list', 'watch'],
      why: 'The leader finds those that lack tolerations.',
    },
    {
      group: 'admissionregistration.k8s.io',
      resources: WEBHOOKS,
      verbs: ['get', 'list', 'watch', 'update', 'delete'],
      named: 'configurations',
      why: 'The leader registers the webhook. A replica adds its CA if the leader does not have it.',
    },
    {
      group: 'admissionregistration.k8s.io',
      resources: WEBHOOKS,
      verbs: ['create'],
      why: 'RBAC cannot limit a creation to a name.',
    },
    {
      group: 'admissionregistration.k8s.io',
      resources: NATIVES,
      verbs: ['list'],
      why: 'The leader checks whether any that it once wrote is still in force.',
    },
    {
      group: 'rbac.authorization.k8s.io',
      resources: ['clusterroles'],
      verbs: ['get', 'patch', 'delete'],
      named: 'ownerClusterRole',
      only: 'ownerClusterRole',
      why:
        'The ClusterRole owns the webhook configurations, and what puts native policies in force. The namespace owns the ClusterRole. API ' +
        "servers with the admission plugin OwnerReferencesPermissionEnforcement, such as OpenShift's, ask for `delete`; taintkeeper deletes " +
        'nothing with it. A holder of the right to patch the role cannot give it a right that the holder lacks.',
    },
    {
      group: 'events.k8s.io',
      resources: ['events'],
      verbs: ['create', 'patch'],
      why: 'An Event is in the namespace of the object that it is about.',
    },
  ],
  namespace: [
    {
      group: '',
      resources: ['secrets'],
      verbs: ['get', 'list', 'watch', 'patch'],
      named: 'secret',
      only: 'secret',
      why: 'The Secret has the certificates.',
    },
    {
      group: '',
      resources: ['secrets'],
      verbs: ['create'],
      only: 'secret',
      why: 'The first replica creates the Secret.',
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      verbs: ['get', 'update'],
      named: 'lease',
      why: 'The Lease says which replica leads.',
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      verbs: ['create'],
      why: 'The first replica creates the Lease.',
    },
    {
      group: '',
      resources: ['services'],
      verbs: ['get'],
      named: 'service',
      why: 'The leader calls the webhook at the address of its Service before it registers it.',
    },
    {
      group: 'discovery.k8s.io',
      resources: ['endpointslices'],
      verbs: ['list'],
      why: 'The leader checks that its pod is a ready endpoint, where no pod reaches itself through a Service.',
    },
    {
      group: '',
      resources: ['namespaces'],
      verbs: ['get'],
      named: 'namespace',
      only: 'ownerClusterRole',
      why: 'The leader makes the namespace the owner of the ClusterRole.',
    },
    { group: '', resources: ['pods'], verbs: ['list'], why: 'The leader finds the nodes of the replicas.' },
    {
      group: '',
      resources: ['pods/eviction'],
      verbs: ['create'],
      why: 'The leader evicts a replica so that it starts [on a node of its own](operating.md#two-replicas-two-nodes).',
    },
    {
      group: '',
      resources: ['configmaps'],
      verbs: ['get', 'patch'],
      named: 'defaultPolicies',
      only: 'defaultPolicies',
      why: 'The leader reads the default policies, and notes which of them it has created.',
    },
  ],
};

/** Rights that only some policies need. Each is a value of the chart and a file of manifests/rights. In Markdown, with links from docs/. */
export const GRANTS = {
  nativePolicies: {
    file: 'native-policies.yaml',
    for: '[`backstop: Native`](native-policies.md#backstop), [TolerationRestrictions](who-may-tolerate.md)',
  },
  patchDaemonSets: {
    file: 'patch-daemon-sets.yaml',
    for: '[`existing: Patch`](coverage.md#daemonsets-that-already-run)',
  },
  recoverPods: { file: 'recover-pods.yaml', for: '[RecoveryPolicies](stuck-pods.md)' },
  listPods: {
    file: 'list-pods.yaml',
    for: 'to remove [startup taints](startup-taints.md#ensure-untilready)',
  },
  listCsiNodes: {
    file: 'list-csi-nodes.yaml',
    for: 'to remove startup taints that wait for [CSI drivers](startup-taints.md#ensure-untilready)',
  },
  listNodePools: {
    file: 'list-node-pools.yaml',
    for: 'to say which node pools [do not declare a required taint](autoscalers.md#pools-that-do-not-declare-a-taint)',
  },
} as const;

export interface OptionalRule extends Rule {
  /** The key in {@link GRANTS}. */
  readonly grant: keyof typeof GRANTS;
  /** As text, after "permission to". */
  readonly to: string;
}

export const OPTIONAL_RIGHTS: Readonly<Record<OptionalRight, OptionalRule>> = {
  nativePolicies: {
    grant: 'nativePolicies',
    to: 'write admission policies',
    group: 'admissionregistration.k8s.io',
    resources: NATIVES,
    verbs: ['get', 'create', 'update', 'delete'],
    why: '`backstop: Native` and TolerationRestrictions need it. Native policies are named after the policies, and RBAC knows no patterns of names.',
  },
  patchDaemonSets: {
    grant: 'patchDaemonSets',
    to: 'patch DaemonSets',
    group: 'apps',
    resources: ['daemonsets'],
    verbs: ['patch'],
    why: '`existing: Patch` needs it.',
  },
  watchPods: {
    grant: 'recoverPods',
    to: 'list and watch pods',
    group: '',
    resources: ['pods'],
    verbs: ['list', 'watch'],
    why: 'RecoveryPolicies find the pods that are Failed.',
  },
  deletePods: {
    grant: 'recoverPods',
    to: 'delete pods',
    group: '',
    resources: ['pods'],
    verbs: ['delete'],
    why: 'RecoveryPolicies delete the pods that are stuck.',
  },
  listPods: {
    grant: 'listPods',
    to: 'list and watch pods',
    group: '',
    resources: ['pods'],
    verbs: ['list', 'watch'],
    why: 'The leader watches the pods of the DaemonSets that a [startup taint](startup-taints.md#ensure-untilready) waits for.',
  },
  listCsiNodes: {
    grant: 'listCsiNodes',
    to: 'list and watch CSINodes',
    group: 'storage.k8s.io',
    resources: ['csinodes'],
    verbs: ['list', 'watch'],
    why: 'The leader watches the CSINodes of the nodes on which a [startup taint](startup-taints.md#ensure-untilready) waits for a CSI driver.',
  },
  listNodePools: {
    grant: 'listNodePools',
    to: 'list NodePools',
    group: 'karpenter.sh',
    resources: ['nodepools'],
    verbs: ['list'],
    why: 'The leader reports node pools that [do not declare a required taint](autoscalers.md#pools-that-do-not-declare-a-taint).',
  },
  listMachineDeployments: {
    grant: 'listNodePools',
    to: 'list MachineDeployments and MachineSets',
    group: 'cluster.x-k8s.io',
    resources: ['machinedeployments', 'machinesets'],
    verbs: ['list'],
    why: 'The same, for Cluster Autoscaler.',
  },
};
export const OPTIONAL_RIGHT_NAMES = Object.keys(OPTIONAL_RIGHTS) as OptionalRight[];

/** The missing right and who grants it, in one sentence. `by` is what needs it, such as `existing: Patch`. */
export function missingRightText(right: OptionalRight, by: string): string {
  return `${by} needs permission to ${OPTIONAL_RIGHTS[right].to}, which taintkeeper does not have: ${howToGrant(right)}`;
}

export function howToGrant(right: OptionalRight): string {
  return `set ${OPTIONAL_RIGHTS[right].grant}: true in the chart's values, or run the commands that taintkeeper doctor prints`;
}
