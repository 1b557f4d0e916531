import {
  type Coverage,
  compileCoverage,
  compilePodCoverage,
  excludingVirtualNodes,
  type SchedulingNode,
  type SchedulingView,
  summarizeObstacle,
} from '../coverage/coverage.ts';
import { type DaemonSetView, judgeDaemonSet, optsOut } from '../judge/daemon-set.ts';
import { selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { equalToleration, formatToleration, type Toleration, tolerates } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import { compileDaemonSetSelection, type SelectableDaemonSet } from '../policy/daemon-set-selection.ts';
import { isForDaemonSets, modeOf, type Policy, type RecoveryPolicy, type TolerationPolicy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import type { Say } from './sections.ts';

/** Whether a policy is for a DaemonSet. */
export interface PolicyOnDaemon {
  readonly kind: 'TolerationPolicy' | 'RecoveryPolicy';
  readonly policy: string;
  readonly mode: string;
  /** Of a TolerationPolicy in mode Mutate: whether it changes DaemonSets that run, too. */
  readonly patchesExisting: boolean;
  /** What of its selection the DaemonSet does not meet; empty where it selects it. */
  readonly unmet: readonly string[];
}

export interface TolerationOnDaemon {
  /** As kubectl would write it. */
  readonly toleration: string;
  /** `own`: no policy asks for it. `asked`: one does, and it is there. `missing`: one does, and it is not. */
  readonly state: 'own' | 'asked' | 'missing';
  readonly by: readonly Say[];
}

/** Nodes on which pods fare alike. */
export interface NodeGroupOutcome {
  readonly nodes: readonly string[];
  readonly runs: boolean;
  /** What keeps them off, in few words each. */
  readonly why: readonly string[];
  /** True where only taints that come and go by themselves do. */
  readonly passing: boolean;
}

/** What there is to say of a DaemonSet, or of the pods that it has. */
export interface DaemonExplanation {
  /** Whether all policies were taken to be in mode Audit. */
  readonly audit: boolean;
  /** It is annotated as one that policies leave alone. */
  readonly optsOut: boolean;
  readonly policies: readonly PolicyOnDaemon[];
  readonly tolerations: readonly TolerationOnDaemon[];
  readonly places: readonly NodeGroupOutcome[];
  /** The taints that alone keep pods off nodes, and that stay. */
  readonly gaps: readonly Taint[];
  /** Those of the gaps that stay when a DaemonSet has what policies in mode Mutate want. */
  readonly unasked: readonly Taint[];
}

type ExplainedPolicy = TolerationPolicy | RecoveryPolicy;

/** Explains a DaemonSet as it stands. */
export function explainDaemonSet(
  daemonSet: DaemonSetView & SchedulingView,
  nodes: readonly SchedulingNode[],
  policies: readonly Policy[],
  { audit = false }: { readonly audit?: boolean } = {},
): DaemonExplanation {
  const declared = policies.filter(isForDaemonSets);
  const { places, gaps } = placesFor(compileCoverage(daemonSet), nodes, true);
  const given = askingFor(daemonSet, compilePolicies(declared, { audit }))
    .filter(({ mode }) => mode === 'Mutate')
    .flatMap(({ tolerations }) => tolerations.map(({ value }) => value));
  return {
    audit,
    optsOut: optsOut(daemonSet),
    policies: declared.map((policy) => onDaemon(policy, daemonSet, audit)),
    tolerations: tolerationsOn(daemonSet, daemonSet.tolerations, declared, audit),
    places,
    gaps,
    unasked: gaps.filter((taint) => !given.some((toleration) => tolerates(toleration, taint))),
  };
}

/**
 * Explains a pod as it stands.
 * @param owner the DaemonSet that made it, if one did: its pods are each for one node, which is the only one to give
 */
export function explainPod(
  pod: SchedulingView,
  owner: DaemonSetView | undefined,
  nodes: readonly SchedulingNode[],
  policies: readonly Policy[],
  { audit = false }: { readonly audit?: boolean } = {},
): DaemonExplanation {
  const declared = policies.filter(isForDaemonSets);
  return {
    audit,
    optsOut: owner !== undefined && optsOut(owner),
    policies: owner ? declared.map((policy) => onDaemon(policy, owner, audit)) : [],
    tolerations: owner
      ? tolerationsOn(owner, pod.tolerations, declared, audit)
      : pod.tolerations.map((toleration) => ({ toleration: formatToleration(toleration), state: 'own', by: [] })),
    ...placesFor(compilePodCoverage(pod), nodes, owner !== undefined),
    unasked: [],
  };
}

function onDaemon(policy: ExplainedPolicy, daemonSet: SelectableDaemonSet, audit: boolean): PolicyOnDaemon {
  const mode = audit ? 'Audit' : modeOf(policy);
  return {
    kind: policy.kind,
    policy: policy.name,
    mode,
    patchesExisting: policy.kind === 'TolerationPolicy' && mode === 'Mutate' && policy.spec.existing === 'Patch',
    unmet: unmetBy(policy, daemonSet),
  };
}

function unmetBy({ spec: { daemonSets } }: ExplainedPolicy, daemonSet: SelectableDaemonSet): string[] {
  const { namespaces, names = ['*'], selector } = daemonSets;
  const everywhere = { namespaces: ['*'] };
  return [
    ...(compileDaemonSetSelection({ namespaces })(daemonSet) ? [] : [`namespace ${namespaces.join(' or ')}`]),
    ...(compileDaemonSetSelection({ ...everywhere, names })(daemonSet) ? [] : [`name ${names.join(' or ')}`]),
    ...requirementsOf(selector)
      .filter((requirement) => !selects({ matchExpressions: [requirement] }, daemonSet.labels))
      .map((requirement) => `label ${formatRequirement(requirement)}`),
  ];
}

/** @param carried by the template, or by a pod that was made of it */
function tolerationsOn(
  daemonSet: DaemonSetView,
  carried: readonly Toleration[],
  declared: readonly ExplainedPolicy[],
  audit: boolean,
): TolerationOnDaemon[] {
  const compiled = compilePolicies(declared, { audit });
  const asking = askingFor(daemonSet, compiled);
  const found = carried.map((toleration): TolerationOnDaemon => {
    const by = asking.flatMap(({ name, mode, tolerations }) =>
      tolerations
        .filter(({ value }) => equalToleration(value, toleration))
        .map(({ field }) => ({ policy: name, mode, field })),
    );
    return { toleration: formatToleration(toleration), state: by.length > 0 ? 'asked' : 'own', by };
  });
  const { violations } = judgeDaemonSet(
    { phase: 'validate', daemonSet: { ...daemonSet, tolerations: carried } },
    compiled,
  );
  const missing = [...Map.groupBy(violations, ({ subject }) => subject)].map(
    ([toleration, of]): TolerationOnDaemon => ({
      toleration,
      state: 'missing',
      by: of.map(({ policy, mode, field }) => ({ policy, mode, field })),
    }),
  );
  return [...found, ...missing];
}

function askingFor(daemonSet: SelectableDaemonSet, { tolerationPolicies }: ReturnType<typeof compilePolicies>) {
  return tolerationPolicies.filter((policy) => policy.selectsDaemonSet(daemonSet));
}

/** @param isDaemon whether the pods are those of a DaemonSet, which no virtual node runs */
function placesFor(
  coverageOn: (node: SchedulingNode) => Coverage,
  nodes: readonly SchedulingNode[],
  isDaemon: boolean,
): Pick<DaemonExplanation, 'places' | 'gaps'> {
  const each = nodes.map((node) => {
    const coverage = coverageOn(node);
    const obstacles = coverage.runs ? [] : coverage.obstacles;
    const virtual = isDaemon && coverage.runs ? virtualNodeLabel(node) : undefined;
    const why = virtual
      ? [`virtual node ${virtual.join('=')}: its pod stays Pending, ${excludingVirtualNodes(virtual)}`]
      : obstacles.map(summarizeObstacle);
    const taints = obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? [obstacle.taint] : []));
    const lasting = taints.filter(({ key }) => !isTransientTaintKey(key));
    const passing = obstacles.length > 0 && obstacles.length === taints.length && lasting.length === 0;
    return { node, why, passing, gaps: obstacles.length === taints.length ? lasting : [] };
  });
  const groups = Map.groupBy(each, ({ why }) => why.join('; '));
  return {
    places: [...groups.values()].map((alike) => ({
      nodes: alike.map(({ node: { name } }) => name),
      runs: alike[0]?.why.length === 0,
      why: alike[0]?.why ?? [],
      passing: alike[0]?.passing ?? false,
    })),
    gaps: each.flatMap(({ gaps }) => gaps),
  };
}
