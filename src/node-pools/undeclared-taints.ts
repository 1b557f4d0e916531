import { satisfies } from '../judge/declared-taints.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { implies, requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { repels, sameTaint, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { isStartupTaintKey, isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import {
  AUTOSCALER_STARTUP_PREFIX,
  isKnownToAutoscalers,
  isKnownToKarpenter,
  type NodePool,
  type PoolList,
} from './node-pool.ts';

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

/**
 * The taints that templates of pools do not declare, for policies in any mode. PreferNoSchedule keeps no pod away. Transient taints do not belong
 * in the template, unless a policy sets them when the node registers. A label that neither the template nor the machine has counts as absent:
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
        .map(({ taint, field, list }) => ({ pool, policy, field, taint, list, openLabels }));
    });
  });
}

/** Whether every node of the pool has the taint from the beginning. */
export function isOnEveryNode({ policy, openLabels }: UndeclaredTaint): boolean {
  return isEnforced(policy) && openLabels.length === 0;
}

/** A taint that nodes have from the beginning and that keeps pods away, with the list that should contain it. */
interface ComingTaint extends EnsuredTaint {
  readonly list: PoolList;
  /** An agent removes taints with this key. Either list may contain it, because a user may keep the taint. */
  readonly isOfAgent?: true;
}

/** The taints that a pool has to declare for the policy. */
export function comingTaints({ ensured }: CompiledTaintPolicy): ComingTaint[] {
  return ensured.flatMap((one): ComingTaint[] => {
    const { key } = one.taint;
    if (one.ensure === 'UntilReady') return [{ ...one, list: 'startupTaints' }];
    if (!repels(one.taint)) return [];
    if (!isTransientTaintKey(key)) return [{ ...one, list: 'taints' }];
    const isOfAgent = one.ensure === 'AtRegistration' && isStartupTaintKey(key) && !isKnownToAutoscalers(key);
    return isOfAgent ? [{ ...one, list: 'startupTaints', isOfAgent }] : [];
  });
}

function isDeclared({ kind, inherited, taints = [], startupTaints = [] }: NodePool, coming: ComingTaint): boolean {
  const { taint, list, isOfAgent } = coming;
  const isStaying = satisfies(valuesOf([...inherited, ...taints]), coming);
  if (list === 'taints') return isStaying;
  if (kind === 'NodePool' && isKnownToKarpenter(taint.key)) return true;
  const isStarting = satisfies(valuesOf(startupTaints), coming);
  if (isOfAgent) return kind !== 'NodePool' || isStaying || isStarting;
  if (kind !== 'NodePool') return taint.key.startsWith(AUTOSCALER_STARTUP_PREFIX);
  return isStarting && !taints.some((one) => sameTaint(one, taint));
}

/** See {@link UndeclaredTaint.openLabels}. Undefined if the selector matches no node of the pool. @param labels of the pool, by their keys */
function labelsLeftOpen(
  labels: ReadonlyMap<string, readonly LabelSelectorRequirement[]>,
  isComplete: boolean,
  required: readonly LabelSelectorRequirement[],
): string[] | undefined {
  const keys = [...new Set(required.map(({ key }) => key))];
  // The other labels of the pool, which may be hundreds, contradict no requirement.
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
