import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { UNINITIALIZED_KEY, UNREGISTERED_KEY } from '../kubernetes/well-known-taints.ts';

/** Where Cluster Autoscaler reads the taints of a pool's first node, as `key=value:Effect,…`. */
export const CAPACITY_TAINTS_ANNOTATION = 'capacity.cluster-autoscaler.kubernetes.io/taints';

/** The label by which Karpenter names the NodePool of a node. */
export const NODE_POOL_LABEL = 'karpenter.sh/nodepool';

/** The properties of a node pool by which an autoscaler plans before it starts a node. */
export interface NodePool {
  /** NodePool is Karpenter's; the others are Cluster API's, which Cluster Autoscaler scales. */
  readonly kind: 'NodePool' | 'MachineDeployment' | 'MachineSet';
  /** Undefined for a cluster-scoped object. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** For the Events about a NodePool. Absent for the other kinds. */
  readonly uid?: string;
  /** The known requirements that the labels of its nodes meet. */
  readonly labels: readonly LabelSelectorRequirement[];
  /** Whether its nodes get only the given labels, apart from those of their machines. */
  readonly isComplete: boolean;
  /** For a NodePool `spec.template.spec.taints`, undefined without such a list; for the others, the taints of the annotation. */
  readonly taints: readonly Taint[] | undefined;
  /** Taints that are declared elsewhere. They count, but no command changes them. */
  readonly inherited: readonly Taint[];
  /**
   * `spec.template.spec.startupTaints`: Karpenter expects their removal, and pods need not tolerate them. Undefined without such a list.
   */
  readonly startupTaints: readonly Taint[] | undefined;
  /** Users cannot change it, because EKS Auto Mode manages it. */
  readonly isBuiltIn?: true;
}

/** Where a pool declares a taint: `startupTaints` for one that taintkeeper removes. Cluster Autoscaler reads the prefix of the key instead. */
export type PoolList = 'taints' | 'startupTaints';

/** The name of the pool: `NodePool gpu`, `MachineDeployment NAMESPACE/NAME`. */
export function titleOf({ kind, namespace, name }: NodePool): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** Cluster Autoscaler ignores taints with such keys when it plans nodes (cluster-autoscaler/utils/taints/taints.go). */
export const AUTOSCALER_STARTUP_PREFIX = 'startup-taint.cluster-autoscaler.kubernetes.io/';

/**
 * Startup taints that autoscalers know without configuration: KnownEphemeralTaints of Karpenter (pkg/scheduling/taints.go), NodeConditionTaints of
 * Cluster Autoscaler 1.36 (cluster-autoscaler/utils/taints/taints.go).
 */
const KNOWN_TO_AUTOSCALERS = [UNINITIALIZED_KEY, UNREGISTERED_KEY];

/** Taints of node-readiness-controller. Karpenter has known them since 1.13 (KnownEphemeralTaintKeyPrefixes); Cluster Autoscaler does not. */
const KNOWN_TO_KARPENTER = 'readiness.k8s.io/';

export function isKnownToAutoscalers(key: string): boolean {
  return KNOWN_TO_AUTOSCALERS.includes(key);
}

export function isKnownToKarpenter(key: string): boolean {
  return isKnownToAutoscalers(key) || key.startsWith(KNOWN_TO_KARPENTER);
}
