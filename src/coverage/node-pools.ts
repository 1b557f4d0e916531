import { satisfies } from '../judge/declared-taints.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { implies, requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { formatTaint, REPELLING_EFFECTS, sameTaint, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import { atMost, shellWord } from '../kubernetes/text.ts';
import { isStartupTaintKey, isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy, EnsuredTaint, Stated } from '../policy/policy-set.ts';
import type { StateOf } from '../policy/status-conditions.ts';

/** Where Cluster Autoscaler reads the taints of a pool's first node, as `key=value:Effect,…`. */
export const CAPACITY_TAINTS_ANNOTATION = 'capacity.cluster-autoscaler.kubernetes.io/taints';

/** The label by which Karpenter names the NodePool of a node. */
export const NODE_POOL_LABEL = 'karpenter.sh/nodepool';

/** What an autoscaler plans with before it starts a node of the pool. */
export interface NodePool {
  /** NodePool is Karpenter's; the others are Cluster API's, which Cluster Autoscaler scales. */
  readonly kind: 'NodePool' | 'MachineDeployment' | 'MachineSet';
  /** Undefined for a cluster-scoped object. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** Absent if it has no effect. */
  readonly uid?: string;
  /** The known requirements that the labels of its nodes meet. */
  readonly labels: readonly LabelSelectorRequirement[];
  /** Whether its nodes get only the given labels, apart from those of their machines. */
  readonly isComplete: boolean;
  /** For a NodePool `spec.template.spec.taints`, undefined without such a list; for the others, the taints of the annotation. */
  readonly taints: readonly Taint[] | undefined;
  /** Taints that are declared elsewhere: they count, but are not changed there. */
  readonly inherited: readonly Taint[];
  /**
   * `spec.template.spec.startupTaints`: Karpenter expects their removal, and pods need not tolerate them. Undefined without such a list.
   */
  readonly startupTaints: readonly Taint[] | undefined;
  /** One that EKS Auto Mode keeps as it is. */
  readonly isBuiltIn?: true;
}

/** Where a pool declares a taint: `startupTaints` for one that taintkeeper removes. Cluster Autoscaler reads the prefix of the key instead. */
export type PoolList = 'taints' | 'startupTaints';

/** A taint of a pool's nodes that its autoscaler does not know, or considers permanent. */
export interface UndeclaredTaint {
  /** The list that should contain it. */
  readonly list: PoolList;
  readonly pool: NodePool;
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  /**
   * Empty if the policy selects every node of the pool. Otherwise the labels of its selector that the template leaves open.
   */
  readonly openLabels: readonly string[];
}

/** Cluster Autoscaler ignores taints with such keys when it plans nodes (cluster-autoscaler/utils/taints/taints.go). */
export const AUTOSCALER_STARTUP_PREFIX = 'startup-taint.cluster-autoscaler.kubernetes.io/';

/**
 * Startup taints that autoscalers know without configuration: KnownEphemeralTaints of Karpenter (pkg/scheduling/taints.go), NodeConditionTaints of
 * Cluster Autoscaler 1.36 (cluster-autoscaler/utils/taints/taints.go).
 */
const KNOWN_TO_AUTOSCALERS = ['node.cloudprovider.kubernetes.io/uninitialized', 'karpenter.sh/unregistered'];

/** Taints of node-readiness-controller. Karpenter has known them since 1.13 (KnownEphemeralTaintKeyPrefixes); Cluster Autoscaler does not. */
const KNOWN_TO_KARPENTER = 'readiness.k8s.io/';

export function isKnownToAutoscalers(key: string): boolean {
  return KNOWN_TO_AUTOSCALERS.includes(key);
}

export function isKnownToKarpenter(key: string): boolean {
  return isKnownToAutoscalers(key) || key.startsWith(KNOWN_TO_KARPENTER);
}

/**
 * The taints that templates of pools do not declare, for policies in any mode. PreferNoSchedule keeps no pod away. Transient taints do not belong
 * into the template, unless a policy sets them when the node registers. A label that neither the template nor the machine has counts as absent:
 * a policy that requires it is ignored.
 */
export function undeclaredTaints(
  pools: readonly NodePool[],
  policies: readonly CompiledTaintPolicy[],
): UndeclaredTaint[] {
  const compared = policies.flatMap((policy) => {
    const coming = comingTaints(policy);
    return coming.length === 0 ? [] : [{ policy, coming, required: requirementsOf(policy.nodeSelector) }];
  });
  return pools.flatMap((pool) => {
    // No node has labels that exclude each other.
    if (!satisfiable(pool.labels)) return [];
    const labels = Map.groupBy(pool.labels, ({ key }) => key);
    return compared.flatMap(({ policy, coming, required }) => {
      const openLabels = labelsLeftOpen(labels, pool.isComplete, required);
      if (openLabels === undefined) return [];
      return coming
        .filter((one) => !isDeclared(pool, one))
        .map(({ value, field, list }) => ({ pool, policy, field, taint: value.taint, list, openLabels }));
    });
  });
}

/** Whether every node of the pool has the taint from the beginning. */
export function isEnforced({ policy, openLabels }: UndeclaredTaint): boolean {
  return policy.mode !== 'Audit' && openLabels.length === 0;
}

/** A taint that nodes have from the beginning and that keeps pods away, with the list that should contain it. */
interface ComingTaint extends Stated<EnsuredTaint> {
  readonly list: PoolList;
  /** An agent removes taints with this key. Either list may contain it, because a user may keep the taint. */
  readonly isOfAgent?: true;
}

function comingTaints({ ensured, untilReady, startup }: CompiledTaintPolicy): ComingTaint[] {
  const removed = new Set(untilReady.map(({ field }) => field));
  const starting = new Set(startup.map(({ field }) => field));
  return ensured.flatMap(({ value, field }): ComingTaint[] => {
    const { key, effect } = value.taint;
    if (removed.has(field)) return [{ value, field, list: 'startupTaints' }];
    if (!REPELLING_EFFECTS.some((one) => one === effect)) return [];
    if (!isTransientTaintKey(key)) return [{ value, field, list: 'taints' }];
    const isOfAgent = starting.has(field) && isStartupTaintKey(key) && !isKnownToAutoscalers(key);
    return isOfAgent ? [{ value, field, list: 'startupTaints', isOfAgent }] : [];
  });
}

function isDeclared(
  { kind, inherited, taints = [], startupTaints = [] }: NodePool,
  { value, list, isOfAgent }: ComingTaint,
): boolean {
  const isStaying = satisfies(valuesOf([...inherited, ...taints]), value);
  if (list === 'taints') return isStaying;
  if (kind === 'NodePool' && isKnownToKarpenter(value.taint.key)) return true;
  const isStarting = satisfies(valuesOf(startupTaints), value);
  if (isOfAgent) return kind !== 'NodePool' || isStaying || isStarting;
  if (kind !== 'NodePool') return value.taint.key.startsWith(AUTOSCALER_STARTUP_PREFIX);
  return isStarting && !taints.some((taint) => sameTaint(taint, value.taint));
}

/** See {@link UndeclaredTaint.openLabels}. Undefined if the selector matches no node of the pool. @param labels of the pool, by their keys */
function labelsLeftOpen(
  labels: ReadonlyMap<string, readonly LabelSelectorRequirement[]>,
  isComplete: boolean,
  required: readonly LabelSelectorRequirement[],
): string[] | undefined {
  const keys = [...new Set(required.map(({ key }) => key))];
  // The other labels of the pool, which may be hundreds, exclude nothing that is required.
  const named = keys.flatMap((key) => labels.get(key) ?? []);
  const absent = keys
    .filter((key) => !labels.has(key) && !isOfMachine(key))
    .map((key): LabelSelectorRequirement => ({ key, operator: 'DoesNotExist' }));
  if (!satisfiable([...named, ...absent, ...required])) return undefined;
  const known = isComplete ? [...named, ...absent] : named;
  const open = required.filter((requirement) => !implies(known, [requirement]));
  return [...new Set(open.map(({ key }) => key))];
}

/**
 * The labels of the machine by kubelets, cloud providers and Karpenter: WellKnownLabels of Karpenter, and those of its providers. AKS
 * (pkg/apis/v1beta1/labels.go of karpenter-provider-azure) and EKS Auto Mode ("Create a Node Pool for EKS Auto Mode" in its user guide) also have some
 * in other domains. Other labels in eks.amazonaws.com are those of managed node groups.
 */
const MACHINE_LABELS = [
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'kubernetes.io/hostname',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'eks.amazonaws.com/compute-type',
];
const MACHINE_PREFIXES =
  /^(beta\.kubernetes\.io|failure-domain\.|topology\.|karpenter\.|kubernetes\.azure\.com\/|eks\.amazonaws\.com\/(instance|capacity-reservation)-)/;

/** Labels that a node gets by its machine, with any configuration of its pool. */
function isOfMachine(key: string): boolean {
  return MACHINE_LABELS.includes(key) || MACHINE_PREFIXES.test(key);
}

/** The name of the pool: `NodePool gpu`, `MachineDeployment NAMESPACE/NAME`. */
export function titleOf({ kind, namespace, name }: NodePool): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** The effect of an undeclared taint. */
function consequenceOf({ kind }: NodePool): string {
  return kind === 'NodePool'
    ? 'Karpenter starts nodes for pods that cannot run there, one after the other'
    : 'Cluster Autoscaler, while there is no node of it, starts one for pods that cannot run there';
}

type Misplaced = Pick<UndeclaredTaint, 'taint' | 'list'>;

/**
 * The command by which the pool declares the taints, and its effect; advice for a pool that cannot be changed. Karpenter replaces the nodes of a
 * NodePool whose template has changed. The annotation of the others changes no machine.
 */
export function howToDeclare(pool: NodePool, undeclared: readonly Misplaced[]): string {
  const { kind, namespace, name } = pool;
  if (pool.isBuiltIn) {
    return `EKS Auto Mode does not let you change its built-in NodePools: create one of your own that declares it, and disable ${name}`;
  }
  const bare = (list: PoolList) =>
    undeclared
      .filter((one) => one.list === list)
      .map(({ taint: { key, value, effect } }) => ({ key, ...(value ? { value } : {}), effect }));
  const [staying, removed] = [bare('taints'), bare('startupTaints')];
  if (kind === 'NodePool') {
    const patch = JSON.stringify(patchOf(pool, staying, removed));
    return `to declare it, upon which Karpenter replaces the nodes of the pool within its disruption budgets: kubectl patch nodepools.karpenter.sh ${shellWord(name)} --type=json -p ${shellWord(patch)}`;
  }
  const renamed = removed.map(
    ({ key }) =>
      `in the policy, name the key ${AUTOSCALER_STARTUP_PREFIX}${key.slice(key.lastIndexOf('/') + 1)} in place of ${key}`,
  );
  if (staying.length === 0) return renamed.join('; ');
  const annotation = withTaints(pool.taints ?? [], staying)
    .map(formatTaint)
    .join(',');
  const object = `${kind.toLowerCase()}.cluster.x-k8s.io ${shellWord(name)} --namespace ${shellWord(namespace ?? '')}`;
  const assignment = shellWord(`${CAPACITY_TAINTS_ANNOTATION}=${annotation}`);
  const command = `to declare it: kubectl annotate --overwrite ${object} ${assignment}`;
  return [...renamed, command].join('; ');
}

/**
 * A JSON patch (RFC 6902). It tests each value that it creates, replaces or removes, because another writer may have changed the list. Without a
 * list, a test for null succeeds at the API server. With one, also an empty one, it fails.
 */
function patchOf(pool: NodePool, staying: readonly Taint[], removed: readonly Taint[]): object[] {
  return [
    ...additions('taints', pool.taints, staying),
    ...additions('startupTaints', pool.startupTaints, removed),
    ...removals('startupTaints', pool.startupTaints, staying),
    ...removals('taints', pool.taints, removed),
  ];
}

const TEMPLATE = '/spec/template/spec';

function additions(list: PoolList, declared: readonly Taint[] | undefined, taints: readonly Taint[]): object[] {
  if (taints.length === 0) return [];
  const path = `${TEMPLATE}/${list}`;
  const changed = withTaints(declared ?? [], taints);
  if (declared === undefined) {
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: changed },
    ];
  }
  return changed.flatMap((taint, index) => changeAt(path, declared[index], taint, index));
}

function removals(list: PoolList, declared: readonly Taint[] = [], taints: readonly Taint[]): object[] {
  const wrong = declared.flatMap((taint, index) => (taints.some((one) => sameTaint(one, taint)) ? [index] : []));
  // From the end, so that the indexes of the others stay.
  return wrong.toReversed().flatMap((index) => [
    { op: 'test', path: `${TEMPLATE}/${list}/${index}/key`, value: declared[index]?.key },
    { op: 'remove', path: `${TEMPLATE}/${list}/${index}` },
  ]);
}

function changeAt(path: string, before: Taint | undefined, after: Taint, index: number): object[] {
  if (before === undefined) return [{ op: 'add', path: `${path}/-`, value: after }];
  if (before === after) return [];
  return [
    { op: 'test', path: `${path}/${index}/key`, value: after.key },
    { op: 'replace', path: `${path}/${index}`, value: after },
  ];
}

/** What a policy that is in force reports of node pools. */
export interface PoolNote extends StateOf<'Ready'> {
  readonly status: 'True';
  readonly reason: 'PoolLacksTaint' | 'PoolsNotPermitted';
}

/** Pools that a message names, each with a command. */
const MAX_NAMED = 8;

/**
 * What the condition `Ready` of a policy that is in force says of node pools. Undefined if there is nothing to report. It does not report a policy
 * that may or may not select nodes of a pool, nor one in mode Audit.
 * @param hidden why some pools cannot be read; empty if all can
 */
export function poolCondition(
  policy: CompiledTaintPolicy,
  undeclared: readonly UndeclaredTaint[],
  hidden: readonly string[],
): PoolNote | undefined {
  if (policy.mode === 'Audit' || comingTaints(policy).length === 0) return undefined;
  const certain = undeclared.filter((one) => one.policy.name === policy.name && one.openLabels.length === 0);
  const pools = [...Map.groupBy(certain, ({ pool }) => pool)];
  if (pools.length > 0) {
    const texts = pools.map(([pool, of]) => `${lackText(pool, of)}; ${howToDeclare(pool, of)}`);
    return { status: 'True', reason: 'PoolLacksTaint', message: atMost(MAX_NAMED, texts).join('; ') };
  }
  return hidden.length === 0 ? undefined : { status: 'True', reason: 'PoolsNotPermitted', message: hidden.join('; ') };
}

/**
 * One sentence: the taints that the template does not declare, and the effect.
 * @param where what requires the taint
 */
export function lackText(
  pool: NodePool,
  undeclared: readonly UndeclaredTaint[],
  where: (one: UndeclaredTaint) => string = ({ field }) => field,
): string {
  const { kind } = pool;
  const listed = (list: PoolList) => {
    const isWrong = ({ taint }: UndeclaredTaint) =>
      (list === 'taints' ? pool.startupTaints : pool.taints)?.some((one) => sameTaint(one, taint)) ?? false;
    const note = list === 'taints' ? 'startupTaints is for taints that are removed' : 'taints is for taints that stay';
    return undeclared
      .filter((one) => one.list === list)
      .map((one) => {
        const hint = kind === 'NodePool' && isWrong(one) ? ` (${note})` : '';
        return `${formatTaint(one.taint)}, required by ${where(one)}${hint}`;
      })
      .join(' and ');
  };
  const [staying, removed] = [listed('taints'), listed('startupTaints')];
  const clauses = [
    ...(staying ? [`does not declare taint ${staying}: ${consequenceOf(pool)}`] : []),
    ...(removed && kind === 'NodePool'
      ? [`does not declare in startupTaints taint ${removed}: Karpenter takes it for a taint that stays`]
      : []),
    ...(removed && kind !== 'NodePool'
      ? [`has nodes with taint ${removed}: Cluster Autoscaler takes it for a taint that stays`]
      : []),
  ];
  return `${titleOf(pool)} ${clauses.join('. It ')}`;
}
