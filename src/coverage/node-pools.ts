import { satisfies } from '../judge/removal.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { implies, requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { formatTaint, REPELLING_EFFECTS, sameTaint, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { StateOf } from '../policy/status-conditions.ts';

/** Where Cluster Autoscaler reads the taints of a node that it would be the first of its pool, as `key=value:Effect,…`. */
export const CAPACITY_TAINTS_ANNOTATION = 'capacity.cluster-autoscaler.kubernetes.io/taints';

/** What an autoscaler reckons with before it starts a node of the pool. */
export interface NodePool {
  /** NodePool is Karpenter's; the others are Cluster API's, which Cluster Autoscaler scales. */
  readonly kind: 'NodePool' | 'MachineDeployment' | 'MachineSet';
  /** Undefined for what is cluster-scoped. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** What is known of the labels of its nodes: each of them meets all of these. */
  readonly labels: readonly LabelSelectorRequirement[];
  /** Whether no labels but those are given to them, but for what their machines are like. */
  readonly isComplete: boolean;
  /** Of a NodePool `spec.template.spec.taints`, undefined where there is no such list; of the others, those of the annotation. */
  readonly taints: readonly Taint[] | undefined;
  /** Taints that are declared elsewhere: they count, but are not changed there. */
  readonly inherited: readonly Taint[];
  /** `spec.template.spec.startupTaints`: Karpenter expects them to be removed, and pods need not tolerate them. */
  readonly startupTaints: readonly Taint[];
}

/** A required taint with which the nodes of a pool come, and its autoscaler does not reckon. */
export interface UndeclaredTaint {
  readonly pool: NodePool;
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  /**
   * Empty where the policy selects every node of the pool; else the labels of its selector that decide it, and that the template
   * leaves open.
   */
  readonly openLabels: readonly string[];
}

/**
 * The required taints that templates of pools do not declare, of policies in any mode. PreferNoSchedule keeps no pod away, and what
 * comes and goes by itself is no matter of the template. A label that neither the template names nor the machine brings is taken to
 * be absent: nothing is said of a policy that asks for it.
 */
export function undeclaredTaints(
  pools: readonly NodePool[],
  policies: readonly CompiledTaintPolicy[],
): UndeclaredTaint[] {
  return pools.flatMap((pool) => {
    const declared = valuesOf([...pool.inherited, ...(pool.taints ?? [])]);
    return policies.flatMap((policy) => {
      const openLabels = labelsLeftOpen(pool, policy);
      if (openLabels === undefined) return [];
      return policy.atRegistration
        .filter(({ value }) => repels(value.taint) && !satisfies(declared, value))
        .map(({ value, field }) => ({ pool, policy, field, taint: value.taint, openLabels }));
    });
  });
}

function repels({ key, effect }: Taint): boolean {
  return REPELLING_EFFECTS.some((one) => one === effect) && !isTransientTaintKey(key);
}

/** See {@link UndeclaredTaint.openLabels}; undefined where the policy selects no node of the pool. */
function labelsLeftOpen(pool: NodePool, { nodeSelector }: CompiledTaintPolicy): string[] | undefined {
  const wanted = requirementsOf(nodeSelector);
  const named = new Set(pool.labels.map(({ key }) => key));
  const unnamed = wanted.filter(({ key }) => !named.has(key) && !isOfMachine(key));
  const absent = unnamed.map(({ key }): LabelSelectorRequirement => ({ key, operator: 'DoesNotExist' }));
  if (!satisfiable([...pool.labels, ...absent, ...wanted])) return undefined;
  const known = pool.isComplete ? [...pool.labels, ...absent] : pool.labels;
  const open = wanted.filter((requirement) => !implies(known, [requirement]));
  return [...new Set(open.map(({ key }) => key))];
}

/** What kubelets, cloud providers and Karpenter say of the machine (WellKnownLabels of Karpenter, and those of its providers). */
const MACHINE_LABELS = [
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'kubernetes.io/hostname',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
];

/** Labels that a node gets for what it is, whoever configures its pool. */
function isOfMachine(key: string): boolean {
  return MACHINE_LABELS.includes(key) || /^(beta\.kubernetes\.io|failure-domain\.|topology\.|karpenter\.)/.test(key);
}

/** How the pool is called: `NodePool gpu`, `MachineDeployment NAMESPACE/NAME`. */
export function titleOf({ kind, namespace, name }: NodePool): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** What comes of a taint that is not declared. */
function consequenceOf({ kind }: NodePool): string {
  return kind === 'NodePool'
    ? 'Karpenter starts nodes for pods that cannot run there, one after the other'
    : 'Cluster Autoscaler, while there is no node of it, starts one for pods that cannot run there';
}

/**
 * The command that has the pool declare the taints, and what follows. Karpenter replaces the nodes of a NodePool whose template has
 * changed; the annotation of the others changes no machine.
 */
export function howToDeclare(pool: NodePool, taints: readonly Taint[]): string {
  const { kind, namespace, name } = pool;
  const bare = taints.map(({ key, value, effect }) => ({ key, ...(value ? { value } : {}), effect }));
  if (kind === 'NodePool')
    return `to declare it, upon which Karpenter replaces the nodes of the pool within its disruption budgets: kubectl patch nodepool ${name} --type=json -p '${JSON.stringify(patchOf(pool, bare))}'`;
  const annotation = withTaints(pool.taints ?? [], bare)
    .map(formatTaint)
    .join(',');
  const object = `${kind.toLowerCase()}.cluster.x-k8s.io ${name} --namespace ${namespace}`;
  return `to declare it: kubectl annotate --overwrite ${object} '${CAPACITY_TAINTS_ANNOTATION}=${annotation}'`;
}

/**
 * A JSON patch (RFC 6902). What it creates, replaces or removes is tested first: somebody may have changed the list meanwhile. Where
 * there is no list, a test for null holds at the API server, and not once there is one, be it empty.
 */
function patchOf({ taints: declared, startupTaints }: NodePool, taints: readonly Taint[]): object[] {
  const path = '/spec/template/spec';
  const changed = withTaints(declared ?? [], taints);
  const startup = startupTaints.flatMap((taint, index) => (taints.some((one) => sameTaint(one, taint)) ? [index] : []));
  return [
    ...(declared === undefined
      ? [
          { op: 'test', path: `${path}/taints`, value: null },
          { op: 'add', path: `${path}/taints`, value: changed },
        ]
      : changed.flatMap((taint, index) => changeAt(`${path}/taints`, declared[index], taint, index))),
    // From the end, so that the places of the others stay.
    ...startup.toReversed().flatMap((index) => [
      { op: 'test', path: `${path}/startupTaints/${index}/key`, value: startupTaints[index]?.key },
      { op: 'remove', path: `${path}/startupTaints/${index}` },
    ]),
  ];
}

function changeAt(path: string, before: Taint | undefined, after: Taint, index: number): object[] {
  if (before === undefined) return [{ op: 'add', path: `${path}/-`, value: after }];
  if (before === after) return [];
  return [
    { op: 'test', path: `${path}/${index}/key`, value: after.key },
    { op: 'replace', path: `${path}/${index}`, value: after },
  ];
}

/** Pools that a message names: each with a command. */
const MAX_NAMED = 8;

/**
 * The condition `PoolLacksTaint` of a policy; undefined where there is nothing to say. Of a policy that may select nodes of a pool, or
 * may not, and of one in mode Audit, nothing is said there.
 * @param hidden why some pools cannot be read; empty where all can
 */
export function poolCondition(
  policy: CompiledTaintPolicy,
  undeclared: readonly UndeclaredTaint[],
  hidden: readonly string[],
): StateOf<'PoolLacksTaint'> | undefined {
  if (policy.mode === 'Audit' || !policy.atRegistration.some(({ value }) => repels(value.taint))) return undefined;
  const certain = undeclared.filter((one) => one.policy.name === policy.name && one.openLabels.length === 0);
  const pools = [...Map.groupBy(certain, ({ pool }) => pool)];
  if (pools.length > 0) {
    const texts = pools.map(
      ([pool, of]) =>
        `${lackText(pool, of)}; ${howToDeclare(
          pool,
          of.map(({ taint }) => taint),
        )}`,
    );
    return { status: 'True', reason: 'Undeclared', message: atMost(MAX_NAMED, texts).join('; ') };
  }
  return hidden.length === 0 ? undefined : { status: 'Unknown', reason: 'NotPermitted', message: hidden.join('; ') };
}

/**
 * In one sentence: which taints the template does not declare, and what comes of it.
 * @param where who wants the taint
 */
export function lackText(
  pool: NodePool,
  undeclared: readonly UndeclaredTaint[],
  where: (one: UndeclaredTaint) => string = ({ field }) => field,
): string {
  const taints = undeclared.map((one) => {
    const isStartup = pool.startupTaints.some((taint) => sameTaint(taint, one.taint));
    return `${formatTaint(one.taint)}, required by ${where(one)}${isStartup ? ' (startupTaints is for taints that go)' : ''}`;
  });
  return `${titleOf(pool)} does not declare taint ${taints.join(' and ')}: ${consequenceOf(pool)}`;
}
