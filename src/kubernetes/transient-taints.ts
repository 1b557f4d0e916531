import { compilePattern, isPattern } from './pattern.ts';
import type { Taint } from './taint.ts';
import {
  DISK_PRESSURE_KEY,
  DISRUPTED_KEY,
  MEMORY_PRESSURE_KEY,
  NETWORK_UNAVAILABLE_KEY,
  NOT_READY_KEY,
  OUT_OF_SERVICE_KEY,
  PID_PRESSURE_KEY,
  TO_BE_DELETED_KEY,
  UNINITIALIZED_KEY,
  UNREACHABLE_KEY,
  UNREGISTERED_KEY,
  UNSCHEDULABLE_KEY,
} from './well-known-taints.ts';

/** A taint that Kubernetes, an autoscaler, an agent or an operator sets or removes during the normal life of a node. */
export interface TransientTaint {
  /** A pattern only where a program makes keys of this form while it runs: users then set no permanent taints below it. */
  readonly key: string;
  /** The subject of "… removes it". `$1` stands for the domain of the key. */
  readonly removedBy: string;
  /**
   * startup: set before a node accepts pods, and removed once the node is ready for them. departure: set on a node that will be deleted or
   * restarted.
   */
  readonly phase?: 'startup' | 'departure';
}

/** Keys of one program. */
function removedBy(program: string, keys: readonly string[], phase?: TransientTaint['phase']): TransientTaint[] {
  return keys.map((key) => ({ key, removedBy: program, ...(phase ? { phase } : {}) }));
}

/** On a node with one of these, the kubelet evicts pods, also those of DaemonSets, and rejects new ones. */
const PRESSURE_TAINT_KEYS: readonly string[] = [MEMORY_PRESSURE_KEY, DISK_PRESSURE_KEY, PID_PRESSURE_KEY];

/** k8s.io/api/core/v1/well_known_taints.go. Users set other keys of this domain, such as node.kubernetes.io/instance-type, and these stay. */
const OF_KUBERNETES: readonly TransientTaint[] = [
  ...removedBy('Kubernetes', [
    NOT_READY_KEY,
    UNREACHABLE_KEY,
    UNSCHEDULABLE_KEY,
    ...PRESSURE_TAINT_KEYS,
    NETWORK_UNAVAILABLE_KEY,
  ]),
  ...removedBy('an administrator', [OUT_OF_SERVICE_KEY], 'departure'),
];

/** k8s.io/cloud-provider/api/well_known_taints.go */
const OF_CLOUD_PROVIDERS: readonly TransientTaint[] = [
  ...removedBy('the cloud controller manager', [UNINITIALIZED_KEY], 'startup'),
  ...removedBy('the cloud controller manager', ['node.cloudprovider.kubernetes.io/shutdown'], 'departure'),
];

/**
 * Taints that describe the state of a node. Kubernetes sets and removes them, except out-of-service, which an administrator sets: Kubernetes then
 * deletes the pods by force.
 */
export const NODE_STATE_TAINT_KEYS: readonly string[] = [...OF_KUBERNETES, ...OF_CLOUD_PROVIDERS].map(({ key }) => key);

const OF_AUTOSCALERS: readonly TransientTaint[] = [
  // kubernetes/autoscaler: cluster-autoscaler/utils/taints/taints.go. The prefixes are its contract with other programs: new nodes are planned
  // without these taints, and with the last two, a node counts as not ready until they are removed.
  ...removedBy('Cluster Autoscaler', [TO_BE_DELETED_KEY], 'departure'),
  ...removedBy('Cluster Autoscaler', ['DeletionCandidateOfClusterAutoscaler']),
  ...removedBy('the program that sets it', ['status-taint.cluster-autoscaler.kubernetes.io/*']),
  ...removedBy('the agent that it waits for', ['startup-taint.cluster-autoscaler.kubernetes.io/*'], 'startup'),
  // Also on nodes that will be deleted, such as ignore-taint.cluster-autoscaler.kubernetes.io/oke-impending-node-termination.
  ...removedBy('the program that sets it', ['ignore-taint.cluster-autoscaler.kubernetes.io/*']),
  // kubernetes-sigs/karpenter: pkg/apis/v1/taints.go. disrupted was called disruption in v1beta1 (designs/v1-roadmap.md), and
  // unregistered was called not-ready in v1alpha5. Users set other keys of this domain, such as karpenter.sh/controller, and these stay.
  ...removedBy('Karpenter', [DISRUPTED_KEY, 'karpenter.sh/disruption'], 'departure'),
  ...removedBy('Karpenter', [UNREGISTERED_KEY, 'karpenter.sh/not-ready'], 'startup'),
];

const OF_CLOUDS: readonly TransientTaint[] = [
  // GKE, and AWS where an EBS volume is stuck while it is attached: both in the file of Cluster Autoscaler.
  ...removedBy('GKE', ['cloud.google.com/impending-node-termination'], 'departure'),
  ...removedBy('an administrator', ['NodeWithImpairedVolumes']),
  // aws/aws-node-termination-handler: pkg/node/node.go, RemoveNTHTaints
  ...removedBy(
    'AWS Node Termination Handler',
    [
      'aws-node-termination-handler/spot-itn',
      'aws-node-termination-handler/scheduled-maintenance',
      'aws-node-termination-handler/asg-lifecycle-termination',
      'aws-node-termination-handler/rebalance-recommendation',
    ],
    'departure',
  ),
  // AKS: node auto-drain and node auto-repair. The second is the earlier name (release notes of AKS).
  ...removedBy(
    'AKS',
    ['remediator.kubernetes.azure.com/unschedulable', 'remediator.aks.microsoft.com/unschedulable'],
    'departure',
  ),
];

/** Operators that create, drain, update or remediate nodes: the program that sets the taint removes it. */
const OF_OPERATORS: readonly TransientTaint[] = [
  // kubernetes-sigs/cluster-api: api/core/v1beta2/common_types.go
  ...removedBy('Cluster API', ['node.cluster.x-k8s.io/uninitialized'], 'startup'),
  ...removedBy('Cluster API', ['node.cluster.x-k8s.io/outdated-revision']),
  // medik8s/self-node-remediation: internal/controller/selfnoderemediation_controller.go; medik8s/fence-agents-remediation: api/v1alpha1. Both
  // changed the key more than once.
  ...removedBy(
    'a remediation operator of Medik8s',
    [
      'remediation.medik8s.io/self-node-remediation',
      'remediation.medik8s.io/fence-agents-remediation',
      'medik8s.io/remediation',
      'medik8s.io/fence-agents-remediation',
    ],
    'departure',
  ),
  // medik8s/node-maintenance-operator: internal/controller/taint.go
  ...removedBy('the Node Maintenance Operator', ['medik8s.io/drain']),
  // KubeVirt: the default of nodeDrainTaintKey, which Harvester sets during its upgrades
  ...removedBy('the program that drains the node', ['kubevirt.io/drain']),
  // openshift/machine-config-operator: pkg/constants/constants.go
  ...removedBy('the Machine Config Operator', ['UpdateInProgress']),
  // kubereboot/kured: cmd/kured/main.go, the proposed values of --prefer-no-schedule-taint, now and before
  ...removedBy('kured', ['kured.dev/kured-node-reboot', 'weave.works/kured-node-reboot']),
];

/** Agents and controllers that wait for them. */
const OF_AGENTS: readonly TransientTaint[] = [
  // cilium/cilium: the default of agent-not-ready-taint-key
  ...removedBy("Cilium's operator", ['node.cilium.io/agent-not-ready'], 'startup'),
  // CSI drivers make the key from their name, which is a flag of many drivers: kubernetes-sigs/azuredisk-csi-driver pkg/azuredisk/azuredisk.go with
  // --drivername, and the same in the drivers of AWS, the Secrets Store driver and others.
  ...removedBy('the CSI driver or agent $1', ['*/agent-not-ready'], 'startup'),
  // istio/istio: pilot/pkg/controllers/untaint, the default of PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME
  ...removedBy('Istio', ['cni.istio.io/not-ready'], 'startup'),
  // kubernetes-sigs/node-readiness-controller: api/v1alpha1/nodereadinessrule_types.go. The taints of rules must have this prefix, and the
  // controller removes them.
  ...removedBy('node-readiness-controller', ['readiness.k8s.io/*'], 'startup'),
  // uswitch/nidhogg: pkg/nidhogg/handler.go. It makes a key from each DaemonSet's namespace and name, and removes all others with this prefix.
  ...removedBy('nidhogg', ['nidhogg.uswitch.com/*'], 'startup'),
  // gardener/gardener: docs/usage/advanced/node-readiness.md
  ...removedBy('Gardener', ['node.gardener.cloud/critical-components-not-ready'], 'startup'),
  // NVIDIA/skyhook: docs/runtime_required.md
  ...removedBy('Skyhook', ['skyhook.nvidia.com'], 'startup'),
  // odigos-io/odigos: common/consts/consts.go
  ...removedBy('Odigos', ['odigos.io/needs-init'], 'startup'),
  // DataDog/datadog-operator: the controller Untaint
  ...removedBy('the Datadog operator', ['agent.datadoghq.com/not-ready'], 'startup'),
  // Calico: package nodestatus, CALICO_MANAGE_NETWORK_READY_TAINT
  ...removedBy('Calico', ['node.projectcalico.org/network-not-ready'], 'startup'),
  // Azure/karpenter-provider-azure: AllowedAKSStartupTaintKeys
  ...removedBy('AKS', ['egressgateway.kubernetes.azure.com/cni-not-ready'], 'startup'),
  // noironetworks/aci-containers#1263
  ...removedBy('the ACI CNI', ['aci-containers-host/unavailable'], 'startup'),
  // deckhouse/deckhouse: modules/040-node-manager
  ...removedBy(
    'Deckhouse',
    [
      'node.deckhouse.io/uninitialized',
      'node.deckhouse.io/csi-not-bootstrapped',
      'node.deckhouse.io/bashible-uninitialized',
    ],
    'startup',
  ),
];

/** All that are known. The reference page lists them. */
export const TRANSIENT_TAINTS: readonly TransientTaint[] = [
  ...OF_KUBERNETES,
  ...OF_CLOUD_PROVIDERS,
  ...OF_AUTOSCALERS,
  ...OF_CLOUDS,
  ...OF_OPERATORS,
  ...OF_AGENTS,
];

/**
 * The keys and patterns of all transient taints. A policy protects one of them only if it names the key exactly: if a pattern restored them, nodes
 * would be unusable (kubernetes-sigs/karpenter#1772). The list is never complete, so patterns have `except`.
 */
export const TRANSIENT_TAINT_KEYS: readonly string[] = TRANSIENT_TAINTS.map(({ key }) => key);

const BY_KEY: ReadonlyMap<string, TransientTaint> = new Map(TRANSIENT_TAINTS.map((taint) => [taint.key, taint]));
const FAMILIES = TRANSIENT_TAINTS.filter(({ key }) => isPattern(key)).map((taint) => ({
  taint,
  matches: compilePattern(taint.key),
}));

/** The exact key comes before the pattern that contains it. */
function transientTaint(key: string): TransientTaint | undefined {
  return BY_KEY.get(key) ?? FAMILIES.find(({ matches }) => matches(key))?.taint;
}

/** True for a taint key that controllers or agents are known to add and remove during the normal life of a node. */
export function isTransientTaintKey(key: string): boolean {
  return transientTaint(key) !== undefined;
}

/** True for the key of a known startup taint. */
export function isStartupTaintKey(key: string): boolean {
  return transientTaint(key)?.phase === 'startup';
}

/** True if the taints say that the node will soon be deleted or restarted. */
export function isDeparting(taints: readonly Taint[]): boolean {
  return taints.some(({ key }) => transientTaint(key)?.phase === 'departure');
}

/** True if the taints say that the node lacks memory, disk space or process IDs. */
export function isUnderPressure(taints: readonly Taint[]): boolean {
  return taints.some(({ key }) => PRESSURE_TAINT_KEYS.includes(key));
}

/** Who removes the taint, as the subject of a sentence, for example `Cilium's operator`. Undefined for a permanent taint. */
export function removerOf(key: string): string | undefined {
  return transientTaint(key)?.removedBy.replace('$1', () => key.slice(0, key.indexOf('/')));
}
