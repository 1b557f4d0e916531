import type { LabelSelectorRequirement, StringMap } from '../kubernetes/label-selector.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { NODE_POOL_LABEL, type NodePool } from '../node-pools/node-pool.ts';
import { labelRequirement, type PoolMetadata } from './pool-parts.ts';

/** The fields of a NodePool of karpenter.sh/v1 that are read here. */
interface NodePoolObject {
  readonly metadata: PoolMetadata;
  readonly spec?: {
    /** Nodes that it keeps without pods (static capacity). */
    readonly replicas?: number | null;
    readonly template?: {
      readonly metadata?: { readonly labels?: StringMap | null };
      readonly spec?: {
        readonly taints?: readonly Taint[] | null;
        readonly startupTaints?: readonly Taint[] | null;
        readonly requirements?: readonly Requirement[] | null;
        readonly nodeClassRef?: { readonly group?: string; readonly kind?: string; readonly name?: string };
      };
    };
  };
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

/** The API group of the NodeClasses of EKS Auto Mode, and its NodePools that users can only enable or disable ("Create a Node Pool" in its guide). */
const EKS_AUTO_MODE = 'eks.amazonaws.com';
const EKS_BUILT_IN: readonly string[] = ['general-purpose', 'system'];

/**
 * What Karpenter plans with (NewNodeClaimTemplate in pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go).
 * @returns undefined for one that starts no nodes for pods
 */
export function viewKarpenterPool(object: unknown): NodePool | undefined {
  const { metadata, spec } = object as NodePoolObject;
  if (metadata.deletionTimestamp !== undefined || typeof spec?.replicas === 'number') return undefined;
  const { requirements, taints, startupTaints, nodeClassRef } = spec?.template?.spec ?? {};
  const { group, kind, name } = nodeClassRef ?? {};
  return {
    kind: 'NodePool',
    namespace: undefined,
    name: metadata.name,
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
    labels: [
      ...requirementsOf({ matchLabels: spec?.template?.metadata?.labels ?? {} }),
      labelRequirement(NODE_POOL_LABEL, metadata.name),
      ...(group && kind && name ? [labelRequirement(`${group}/${kind.toLowerCase()}`, name)] : []),
      ...(requirements ?? []).map(viewRequirement),
    ],
    isComplete: true,
    taints: taints ?? undefined,
    inherited: [],
    startupTaints: startupTaints ?? undefined,
    ...(group === EKS_AUTO_MODE && EKS_BUILT_IN.includes(metadata.name) ? { isBuiltIn: true } : {}),
  };
}

/** For numbers that are compared, only that there is one. */
function viewRequirement({ key, operator, values }: Requirement): LabelSelectorRequirement {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return { key, operator, values: values ?? [] };
    case 'DoesNotExist':
      return { key, operator };
    default:
      return { key, operator: 'Exists' };
  }
}
