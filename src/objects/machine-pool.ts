import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { isDnsSubdomain, isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import { parseTaint, type Taint } from '../kubernetes/taint.ts';
import { CAPACITY_TAINTS_ANNOTATION, type NodePool } from '../node-pools/node-pool.ts';
import type { NodeObject } from './node-object.ts';
import { labelRequirement, type PoolMetadata } from './pool-parts.ts';

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
  readonly metadata: PoolMetadata;
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
      ...requirementsOf({ matchLabels: spec?.template?.metadata?.labels ?? {} }).filter(({ key }) => isSynced(key)),
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
