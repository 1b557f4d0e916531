import { groupsBy } from '../collections/groups-by.ts';
import { startupRulesOf } from '../coverage/startup-rules.ts';
import { taintsAlone } from '../coverage/taints-alone.ts';
import { type DaemonSetView, hasTooManyTolerations, isLeftAlone, optsOut } from '../judge/daemon-set-view.ts';
import { type LackedTolerations, lackedByRunning } from '../judge/request/daemon-set.ts';
import type { Taint } from '../kubernetes/taint.ts';
import {
  equalToleration,
  formatSeconds,
  formatToleration,
  secondsOf,
  type Toleration,
  tolerates,
} from '../kubernetes/toleration.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import { compileDaemonSetSelection, type SelectableDaemonSet } from '../policy/daemon-set-selection.ts';
import { isForDaemonSets, modeOf, type Policy, type RecoveryPolicy, type TolerationPolicy } from '../policy/policy.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { patchesExisting } from '../policy/toleration-policy.ts';
import {
  type Coverage,
  compileCoverage,
  compilePodCoverage,
  lastingEvictions,
  type SchedulingNode,
  type SchedulingView,
  summarizeEviction,
} from '../scheduling/coverage.ts';
import { excludingVirtualNodes, summarizeObstacle } from '../scheduling/obstacle.ts';
import type { PolicyField } from './policy-field.ts';
import { unmetRequirements } from './unmet-requirements.ts';

/** Whether a policy selects a DaemonSet. */
export interface PolicyOnDaemon {
  readonly kind: 'TolerationPolicy' | 'RecoveryPolicy';
  readonly policy: string;
  readonly mode: string;
  /** For a TolerationPolicy in mode Mutate: whether it also changes running DaemonSets. */
  readonly patchesExisting: boolean;
  /** The requirements of its selection that the DaemonSet does not meet. Empty if it selects it. */
  readonly unmet: readonly string[];
}

export interface TolerationOnDaemon {
  /** As kubectl writes it. */
  readonly toleration: string;
  /** `own`: no policy requires it. `required`: a policy requires it. `missing`: a policy requires it, and the DaemonSet lacks it. */
  readonly state: 'own' | 'required' | 'missing';
  readonly by: readonly PolicyField[];
  /** The tolerations of the DaemonSet that come first and end earlier, if that is why it is missing. */
  readonly cutShortBy?: readonly string[];
}

/** Nodes with the same outcome for pods. */
export interface NodeGroupOutcome {
  readonly nodes: readonly string[];
  readonly runs: boolean;
  /** What keeps pods off. Where they run: what evicts each of them again. */
  readonly why: readonly string[];
  /** The taints that evict each of them again, where they run. */
  readonly evictedBy: readonly Taint[];
  /** True if only transient taints keep pods off: Kubernetes, autoscalers or operators remove them. */
  readonly passing: boolean;
}

/** How the policies apply to a DaemonSet, or to a pod. */
export interface PoliciesOnDaemon {
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  /** It opts out by annotation. */
  readonly optsOut: boolean;
  /** The DaemonSet is being deleted. */
  readonly deleting: boolean;
  readonly policies: readonly PolicyOnDaemon[];
  readonly tolerations: readonly TolerationOnDaemon[];
  readonly places: readonly NodeGroupOutcome[];
  /** The permanent taints that keep pods off nodes, where nothing else does. */
  readonly permanentTaints: readonly Taint[];
  /** The transient taints that keep pods off nodes, where nothing else does. */
  readonly waiting: readonly Taint[];
}

/** How the policies apply to a DaemonSet. */
export interface PoliciesOnDaemonSet extends PoliciesOnDaemon {
  /** It has so many tolerations that no TolerationPolicy is applied to it. */
  readonly tooManyTolerations: boolean;
  /** Those of {@link PoliciesOnDaemon.permanentTaints} that it would not tolerate with the missing tolerations of policies of any mode, if it did not opt out and was not being deleted. */
  readonly notRequired: readonly Taint[];
  /** The tolerations with seconds of policies in mode Mutate for the taints that evict its pods: they are added again to a DaemonSet without them. */
  readonly addedAgain: readonly PolicyField[];
}

type ExplainedPolicy = TolerationPolicy | RecoveryPolicy;

/** The policies in force. */
export interface InForce {
  readonly policies: readonly Policy[];
  /** The same, compiled with the same `audit`. */
  readonly compiled: PolicySet;
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
}

/** How the policies apply to a DaemonSet in its present state. */
export function policiesOnDaemonSet(
  daemonSet: DaemonSetView & SchedulingView,
  nodes: readonly SchedulingNode[],
  { policies, compiled, audit }: InForce,
): PoliciesOnDaemonSet {
  const { places, permanentTaints, waiting } = placesFor(compileCoverage(daemonSet), nodes, daemonSet, compiled);
  const requiring = requiringFor(daemonSet, compiled);
  // Also for a DaemonSet that no policy applies to: it lacks nothing then, but policies do require tolerations of it.
  const { missing } = lackedByRunning({ ...daemonSet, annotations: {}, deleting: false }, compiled);
  const evicting = places.flatMap(({ evictedBy }) => evictedBy);
  const adding = isLeftAlone(daemonSet) ? [] : requiring.filter(({ mode }) => mode === 'Mutate');
  return {
    audit,
    optsOut: optsOut(daemonSet),
    deleting: daemonSet.deleting,
    tooManyTolerations: hasTooManyTolerations(daemonSet),
    policies: policies.filter(isForDaemonSets).map((policy) => onDaemon(policy, daemonSet, audit)),
    tolerations: tolerationsOn(daemonSet, daemonSet.tolerations, compiled),
    places,
    permanentTaints,
    waiting,
    notRequired: permanentTaints.filter((taint) => !missing.some(({ toleration }) => tolerates(toleration, taint))),
    addedAgain: fieldsWith(
      adding,
      (value) => Number.isFinite(secondsOf(value)) && evicting.some((taint) => tolerates(value, taint)),
    ),
  };
}

/**
 * Explains the present state of a pod.
 * @param owner the DaemonSet that controls it, if one does
 * @param nodes for a pod of a DaemonSet, only the node that it is for
 */
export function policiesOnPod(
  pod: SchedulingView,
  owner: DaemonSetView | undefined,
  nodes: readonly SchedulingNode[],
  { policies, compiled, audit }: InForce,
): PoliciesOnDaemon {
  return {
    audit,
    optsOut: owner !== undefined && optsOut(owner),
    deleting: owner?.deleting === true,
    policies: owner ? policies.filter(isForDaemonSets).map((policy) => onDaemon(policy, owner, audit)) : [],
    tolerations: owner
      ? tolerationsOn(owner, pod.tolerations, compiled)
      : pod.tolerations.map((toleration) => ({ toleration: formatToleration(toleration), state: 'own', by: [] })),
    ...placesFor(compilePodCoverage(pod), nodes, owner, compiled),
  };
}

function onDaemon(policy: ExplainedPolicy, daemonSet: SelectableDaemonSet, audit: boolean): PolicyOnDaemon {
  const mode = audit ? 'Audit' : modeOf(policy);
  return {
    kind: policy.kind,
    policy: policy.name,
    mode,
    patchesExisting: policy.kind === 'TolerationPolicy' && patchesExisting(policy.spec, mode),
    unmet: unmetBy(policy, daemonSet),
  };
}

function unmetBy({ spec: { daemonSets } }: ExplainedPolicy, daemonSet: SelectableDaemonSet): string[] {
  const { namespaces, names = ['*'], selector } = daemonSets;
  const everywhere = { namespaces: ['*'] };
  return [
    ...(compileDaemonSetSelection({ namespaces })(daemonSet) ? [] : [`namespace ${namespaces.join(' or ')}`]),
    ...(compileDaemonSetSelection({ ...everywhere, names })(daemonSet) ? [] : [`name ${names.join(' or ')}`]),
    ...unmetRequirements(selector, daemonSet.labels).map((requirement) => `label ${requirement}`),
  ];
}

/** @param carried the tolerations of the template, or of a pod */
function tolerationsOn(
  daemonSet: DaemonSetView,
  carried: readonly Toleration[],
  compiled: PolicySet,
): TolerationOnDaemon[] {
  const requiring = requiringFor(daemonSet, compiled);
  const found = carried.map((toleration): TolerationOnDaemon => {
    const by = fieldsWith(requiring, (value) => equalToleration(value, toleration));
    return { toleration: formatToleration(toleration), state: by.length > 0 ? 'required' : 'own', by };
  });
  const { missing, cutShort } = lackedByRunning({ ...daemonSet, tolerations: carried }, compiled);
  const fieldsOf = (alike: LackedTolerations['missing']) =>
    alike.map(({ policy: { name, mode }, field }) => ({ policy: name, mode, field }));
  return [
    ...found,
    ...[...Map.groupBy(missing, ({ toleration }) => formatToleration(toleration))].map(
      ([toleration, alike]): TolerationOnDaemon => ({ toleration, state: 'missing', by: fieldsOf(alike) }),
    ),
    ...[...Map.groupBy(cutShort, ({ required }) => formatSeconds(required.toleration))].map(
      ([toleration, alike]): TolerationOnDaemon => ({
        toleration,
        state: 'missing',
        by: fieldsOf(alike.map(({ required }) => required)),
        cutShortBy: [...new Set(alike.map(({ by }) => formatSeconds(by)))],
      }),
    ),
  ];
}

/** The fields of the policies with such tolerations. */
function fieldsWith(
  policies: ReturnType<typeof requiringFor>,
  isMeant: (toleration: Toleration) => boolean,
): PolicyField[] {
  return policies.flatMap(({ name, mode, tolerations }) =>
    tolerations.filter(({ value }) => isMeant(value)).map(({ field }) => ({ policy: name, mode, field })),
  );
}

/** The TolerationPolicies that require tolerations of the DaemonSet. */
function requiringFor(daemonSet: SelectableDaemonSet, { tolerationPolicies }: PolicySet) {
  return tolerationPolicies.filter((policy) => policy.selectsDaemonSet(daemonSet));
}

/** @param daemonSet that controls the pods, if one does: virtual nodes do not run those, and a startup taint may wait for it */
function placesFor(
  coverageOn: (node: SchedulingNode) => Coverage,
  nodes: readonly SchedulingNode[],
  daemonSet: Pick<DaemonSetView, 'namespace' | 'name'> | undefined,
  { taintPolicies }: PolicySet,
): Pick<PoliciesOnDaemon, 'places' | 'permanentTaints' | 'waiting'> {
  const startup = startupRulesOf(taintPolicies);
  const each = nodes.map((node) => {
    const coverage = coverageOn(node);
    const obstacles = coverage.runs ? [] : coverage.obstacles;
    const virtual = daemonSet && coverage.runs ? virtualNodeLabel(node) : undefined;
    const runs = coverage.runs && !virtual;
    const evictions = runs ? lastingEvictions(coverage) : [];
    const why = virtual
      ? [`virtual node ${virtual.join('=')}: its pod stays Pending, ${excludingVirtualNodes(virtual)}`]
      : [...obstacles.map(summarizeObstacle), ...evictions.map(summarizeEviction)];
    const taints = taintsAlone(coverage, daemonSet, node, startup);
    const isTransient = taints?.permanent.length === 0;
    return {
      node,
      runs,
      why,
      evictedBy: evictions.map(({ taint }) => taint),
      passing: isTransient,
      waiting: isTransient ? taints.transient : [],
      permanent: taints?.permanent ?? [],
    };
  });
  const groups = groupsBy(each, ({ runs, why, passing }) => `${runs} ${passing} ${why.join('; ')}`);
  return {
    places: groups.map((alike) => {
      const [{ runs, why, evictedBy, passing }] = alike;
      return { nodes: alike.map(({ node: { name } }) => name), runs, why, evictedBy, passing };
    }),
    permanentTaints: each.flatMap(({ permanent }) => permanent),
    waiting: each.flatMap(({ waiting }) => waiting),
  };
}
