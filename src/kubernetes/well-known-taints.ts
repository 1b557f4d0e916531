// The keys of taints that rules name. All keys that are known, and who removes them, are in transient-taints.ts.

// k8s.io/api/core/v1/well_known_taints.go: the node lifecycle controller sets them, except out-of-service.

export const NOT_READY_KEY = 'node.kubernetes.io/not-ready';

export const UNREACHABLE_KEY = 'node.kubernetes.io/unreachable';

/** `kubectl cordon` makes Kubernetes set it, and so does `kubectl drain`, which cordons first. */
export const UNSCHEDULABLE_KEY = 'node.kubernetes.io/unschedulable';

export const MEMORY_PRESSURE_KEY = 'node.kubernetes.io/memory-pressure';

export const DISK_PRESSURE_KEY = 'node.kubernetes.io/disk-pressure';

export const PID_PRESSURE_KEY = 'node.kubernetes.io/pid-pressure';

export const NETWORK_UNAVAILABLE_KEY = 'node.kubernetes.io/network-unavailable';

/** An administrator sets this taint, so that Kubernetes deletes the pods of the node by force. Kubernetes does not remove it. */
export const OUT_OF_SERVICE_KEY = 'node.kubernetes.io/out-of-service';

/**
 * The taint of a node that the cloud provider has not initialized: labels are missing, by which DaemonSets select the node
 * (k8s.io/cloud-provider/api/well_known_taints.go).
 */
export const UNINITIALIZED_KEY = 'node.cloudprovider.kubernetes.io/uninitialized';

/** The same until Cluster API has copied the labels of the Machine (kubernetes-sigs/cluster-api: api/core/v1beta2/common_types.go). */
export const CLUSTER_API_UNINITIALIZED_KEY = 'node.cluster.x-k8s.io/uninitialized';

/**
 * Until Karpenter has registered a node, it carries this taint (kubernetes-sigs/karpenter: pkg/apis/v1/taints.go). In the update that removes it,
 * Karpenter adds `startupTaints` again (pkg/controllers/nodeclaim/lifecycle/registration.go), also those that were removed before.
 */
export const UNREGISTERED_KEY = 'karpenter.sh/unregistered';

/** Karpenter sets it on a node that it will delete (pkg/apis/v1/taints.go). */
export const DISRUPTED_KEY = 'karpenter.sh/disrupted';

/** Cluster Autoscaler sets it on a node that it will delete (cluster-autoscaler/utils/taints/taints.go). */
export const TO_BE_DELETED_KEY = 'ToBeDeletedByClusterAutoscaler';
