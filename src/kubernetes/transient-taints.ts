import { compilePattern, matchesPattern } from './pattern.ts';
import type { Taint } from './taint.ts';

/** Taints of a node that will be deleted or restarted. A part of the transient ones. */
const DEPARTURE_TAINT_KEYS: readonly string[] = [
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/shutdown',
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
  'cloud.google.com/impending-node-termination',
  'aws-node-termination-handler/*',
  'medik8s.io/remediation',
  'remediator.kubernetes.azure.com/*',
];

/** True if the taints say that the node will soon be deleted or restarted. */
export function isDeparting(taints: readonly Taint[]): boolean {
  return taints.some(({ key }) => DEPARTURE_TAINT_KEYS.some((pattern) => matchesPattern(pattern, key)));
}

/**
 * Startup taints: set before a node accepts pods, and removed by an agent or a controller once the node is ready for them. A part of the transient
 * ones. Each has its source beside it.
 */
const STARTUP_TAINT_KEYS: readonly string[] = [
  'startup-taint.cluster-autoscaler.kubernetes.io/*',
  '*/agent-not-ready', // Cilium, and CSI drivers of many vendors
  'cni.istio.io/not-ready',
  'readiness.k8s.io/*',
  'nidhogg.uswitch.com/*',
  'node.gardener.cloud/critical-components-not-ready', // gardener/gardener: docs/usage/advanced/node-readiness.md
  'skyhook.nvidia.com', // NVIDIA/skyhook: docs/runtime_required.md
  'odigos.io/needs-init', // odigos-io/odigos: common/consts/consts.go
  'agent.datadoghq.com/not-ready', // DataDog/datadog-operator: the controller Untaint
  'node.projectcalico.org/network-not-ready', // Calico: package nodestatus, CALICO_MANAGE_NETWORK_READY_TAINT
  'egressgateway.kubernetes.azure.com/cni-not-ready', // Azure/karpenter-provider-azure: AllowedAKSStartupTaintKeys
  'aci-containers-host/unavailable', // noironetworks/aci-containers#1263
  // Deckhouse: node-manager registers nodes with them and takes them off (deckhouse/deckhouse: modules/040-node-manager).
  'node.deckhouse.io/uninitialized',
  'node.deckhouse.io/csi-not-bootstrapped',
  'node.deckhouse.io/bashible-uninitialized',
];

/**
 * Taints that Kubernetes, autoscalers or operators set and remove. A policy protects one of them only if it names the key exactly: if a pattern
 * restored them, nodes would be unusable (kubernetes-sigs/karpenter#1772). Each has its source beside it. The list is never complete, so patterns
 * have `except`, and protect only established taints.
 */
export const TRANSIENT_TAINT_KEYS: readonly string[] = [
  // Set and removed by Kubernetes itself: node life cycle, cloud controller managers, kubelet shutdown.
  'node.kubernetes.io/*',
  'node.cloudprovider.kubernetes.io/*',
  // Set by autoscalers on nodes that start or end (kubernetes/autoscaler: cluster-autoscaler/utils/taints/taints.go).
  'ToBeDeletedByClusterAutoscaler',
  'DeletionCandidateOfClusterAutoscaler',
  'status-taint.cluster-autoscaler.kubernetes.io/*',
  'ignore-taint.cluster-autoscaler.kubernetes.io/*',
  'karpenter.sh/*',
  'cloud.google.com/impending-node-termination',
  'aws-node-termination-handler/*',
  'NodeWithImpairedVolumes', // AWS: an EBS volume is stuck while it is attached (the same file)
  // Cluster API, and operators that drain, update or remediate nodes: set and removed by the same program.
  'node.cluster.x-k8s.io/*',
  'medik8s.io/remediation',
  'remediator.kubernetes.azure.com/*',
  'kubevirt.io/drain',
  'UpdateInProgress', // OpenShift (openshift/machine-config-operator: pkg/constants/constants.go)
  // kubereboot/kured: cmd/kured/main.go, what --prefer-no-schedule-taint is to be set to, now and before
  'kured.dev/kured-node-reboot',
  'weave.works/kured-node-reboot',
  ...STARTUP_TAINT_KEYS,
];

/**
 * Taints that describe the state of a node (k8s.io/api/core/v1/well_known_taints.go, k8s.io/cloud-provider/api/well_known_taints.go). Kubernetes sets
 * and removes them, except out-of-service, which an administrator sets: Kubernetes then deletes the pods by force.
 */
export const NODE_STATE_TAINT_KEYS: readonly string[] = [
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cloudprovider.kubernetes.io/shutdown',
];

const MATCHERS = TRANSIENT_TAINT_KEYS.map(compilePattern);
const STARTUP_MATCHERS = [
  ...STARTUP_TAINT_KEYS,
  // The families above contain these.
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cluster.x-k8s.io/uninitialized',
  'karpenter.sh/unregistered',
].map(compilePattern);

/** True for a taint key that controllers or agents are known to add and remove during the normal life of a node. */
export function isTransientTaintKey(key: string): boolean {
  return MATCHERS.some((matches) => matches(key));
}

/** True for the key of a known startup taint. */
export function isStartupTaintKey(key: string): boolean {
  return STARTUP_MATCHERS.some((matches) => matches(key));
}
