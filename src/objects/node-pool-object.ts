import { type LabelSelectorRequirement, ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { isDnsSubdomain, isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import { parseTaint, type Taint } from '../kubernetes/taint.ts';
import { CAPACITY_TAINTS_ANNOTATION, NODE_POOL_LABEL, type NodePool } from '../node-pools/node-pool.ts';
import type { NodeObject } from './node-object.ts';

interface Metadata {
  readonly name: string;
  readonly uid?: string;
  readonly namespace?: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: StringMap | null;
  readonly labels?: StringMap | null;
  readonly ownerReferences?: readonly { readonly controller?: boolean }[] | null;
}

/** The fields of a NodePool of karpenter.sh/v1 that are read here. */
interface NodePoolObject {
  readonly metadata: Metadata;
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
      ...labelRequirements(spec?.template?.metadata?.labels),
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

const MIN_SIZE = 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size';
const MAX_SIZE = 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size';
const CAPACITY_LABELS = 'capacity.cluster-autoscaler.kubernetes.io/labels';

/** Labels or taints of a pool of machines. The API server accepts 200,000 in one object, and the leader compares each with the policies. */
const MAX_LISTED = 256;

function textsOf(annotation: string | null | undefined): string[] {
  return (annotation ?? '').split(',', MAX_LISTED);
}

/** The fields of a MachineDeployment or MachineSet of cluster.x-k8s.io that are read here. */
interface MachinesObject {
  readonly metadata: Metadata;
  readonly spec?: {
    readonly clusterName?: string;
    readonly template?: {
      readonly metadata?: { readonly labels?: StringMap | null };
      /** `taints` exist from v1beta2 on. */
      readonly spec?: { readonly taints?: readonly Taint[] | null };
    };
  };
}

/**
 * What Cluster Autoscaler plans with if there is no node as a model: a pool that it may scale to zero (Labels and Taints in
 * cluster-autoscaler/cloudprovider/clusterapi/clusterapi_unstructured.go). It does not read the bootstrap configuration.
 * @param clusters NAMESPACE/NAME of the clusters of these nodes: a management cluster also has machines of others
 * @returns undefined for an object that is no such pool, or belongs to another cluster
 */
export function viewMachinePool(
  kind: 'MachineDeployment' | 'MachineSet',
  object: unknown,
  clusters: ReadonlySet<string>,
): NodePool | undefined {
  const { metadata, spec } = object as MachinesObject;
  const { name, namespace = '', deletionTimestamp, ownerReferences } = metadata;
  const annotations = metadata.annotations ?? {};
  const isScaledFromZero =
    Number(ownValue(annotations, MAX_SIZE) ?? 0) > 0 && Number(ownValue(annotations, MIN_SIZE) ?? 0) === 0;
  const isOwned = ownerReferences?.some(({ controller }) => controller) ?? false;
  if (deletionTimestamp !== undefined || !isScaledFromZero || (kind === 'MachineSet' && isOwned)) return undefined;
  if (!clusters.has(`${namespace}/${spec?.clusterName ?? ''}`)) return undefined;
  return {
    kind,
    namespace,
    name,
    labels: [
      ...labelRequirements(spec?.template?.metadata?.labels).filter(({ key }) => isSynced(key)),
      ...textsOf(ownValue(annotations, CAPACITY_LABELS)).flatMap((text) => {
        const [key = '', value] = text.split('=', 2);
        return value === undefined ? [] : [labelRequirement(key.trim(), value.trim())];
      }),
    ].slice(0, MAX_LISTED),
    // The bootstrap configuration may contain more.
    isComplete: false,
    taints: textsOf(ownValue(annotations, CAPACITY_TAINTS_ANNOTATION)).flatMap((text) => {
      const taint = parseTaint(text.trim());
      return taint && isValid(taint) ? [taint] : [];
    }),
    inherited: (spec?.template?.spec?.taints ?? []).slice(0, MAX_LISTED),
    startupTaints: undefined,
  };
}

/** Whether a node can have the taint. The API server checks no text of an annotation, and messages and commands repeat this one. */
function isValid({ key, value }: { readonly key: string; readonly value: string | undefined }): boolean {
  return isQualifiedName(key) && isLabelValue(value ?? '');
}

/** Whether Cluster API puts a label of its machines on their nodes (getManagedLabels in its machine controller). */
function isSynced(key: string): boolean {
  const [domain = ''] = key.split('/', 1);
  return (
    domain === 'node-role.kubernetes.io' ||
    /(^|\.)(node-restriction\.kubernetes\.io|node\.cluster\.x-k8s\.io)$/.test(domain)
  );
}

/** NAMESPACE/NAME of the Cluster (cluster.x-k8s.io) whose node it is, as Cluster API writes it on its nodes; undefined for none. */
export function machineClusterOf({ metadata }: NodeObject): string | undefined {
  const annotations = metadata.annotations ?? {};
  const name = ownValue(annotations, 'cluster.x-k8s.io/cluster-name');
  const namespace = ownValue(annotations, 'cluster.x-k8s.io/cluster-namespace');
  return name && namespace && isDnsSubdomain(name) && isDnsSubdomain(namespace) ? `${namespace}/${name}` : undefined;
}

function labelRequirements(labels: StringMap | null | undefined): LabelSelectorRequirement[] {
  return Object.entries(labels ?? {}).map(([key, value]) => labelRequirement(key, value ?? ''));
}

function labelRequirement(key: string, value: string): LabelSelectorRequirement {
  return { key, operator: 'In', values: [value] };
}
