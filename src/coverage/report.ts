import { ROLE_TAINT_KEYS } from '../kubernetes/roles.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import { type Coverage, lastingEvictions, type SchedulingNode } from '../scheduling/coverage.ts';
import { formatObstacle, type Obstacle, summarizeObstacle } from '../scheduling/obstacle.ts';
import { type MissingPod, missingPods, type Placement } from '../scheduling/placement.ts';
import { fixGaps, type LeftGap } from './gap-fix.ts';
import { findGaps } from './gaps.ts';
import { eachNode, groupNodes } from './node-groups.ts';
import { traitsOf } from './node-traits.ts';
import { type StartupDeadlock, startupDeadlocks } from './startup-deadlock.ts';
import { NO_STARTUP_RULES, type StartupRules } from './startup-rules.ts';
import type { NodeCoverage } from './taints-alone.ts';
import type { FixableDaemonSet } from './workload.ts';

/** Where DaemonSets run, and why not elsewhere: the output of `taintkeeper coverage -o json`. */
export interface CoverageReport {
  readonly nodeGroups: readonly ReportedGroup[];
  readonly daemonSets: readonly ReportedDaemonSet[];
  readonly gaps: readonly ReportedGap[];
  /** How many of the gaps another TolerationPolicy for the control plane's taints closes. */
  readonly closable: number;
  /** The DaemonSets with gaps that their next rollout closes. */
  readonly rollouts: readonly ReportedRollout[];
  /** Keys of other taints: policies that tolerate them as well would close more gaps. */
  readonly askable: readonly string[];
}

export interface ReportedGroup {
  /** `A`, `B`, … */
  readonly id: string;
  readonly nodes: readonly string[];
  /** What they have in common. */
  readonly roles: readonly string[];
  readonly taints: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** What only some of them have, with the number of nodes. Absent if there is nothing. */
  readonly partly?: {
    readonly roles: Readonly<Record<string, number>>;
    readonly taints: Readonly<Record<string, number>>;
  };
  /** The label of virtual nodes, such as `type=virtual-kubelet`. Absent for other nodes. */
  readonly virtual?: string;
}

export interface ReportedDaemonSet {
  readonly namespace: string;
  readonly name: string;
  /** One for each group, in order. */
  readonly cells: readonly ReportedCell[];
}

/** A DaemonSet on the nodes of a group. */
export interface ReportedCell {
  readonly group: string;
  readonly runs: boolean;
  /** If it runs: the NoExecute taints that evict each pod again, and after how many seconds. */
  readonly evictions?: readonly { readonly taint: string; readonly seconds: number }[];
  /** If it does not run: whether an existing pod stays. */
  readonly staysIfThere?: boolean;
  /** If it does not run: whether only transient taints block it. */
  readonly passing?: boolean;
  /** Everything that keeps it off. */
  readonly obstacles?: readonly ReportedObstacle[];
  /** If it is known. */
  readonly pods?: {
    /** The number of nodes with a scheduled pod. */
    readonly scheduled: number;
    /** The nodes where it should run, without a scheduled pod. */
    readonly missing: readonly MissingPod[];
    /** The nodes where it should not run, with a scheduled pod. */
    readonly staying: readonly string[];
  };
}

export interface ReportedObstacle {
  readonly kind: Obstacle['kind'];
  /** In a few words, such as `taint dedicated=gpu:NoSchedule`. With separate nodes, also the node's values. */
  readonly what: string;
}

export interface ReportedGap {
  readonly namespace: string;
  readonly name: string;
  readonly taints: readonly string[];
  readonly nodes: readonly string[];
  readonly passing: boolean;
  /** The startup taints that are removed only when the DaemonSet is ready. Absent if there are none. */
  readonly deadlocks?: readonly StartupDeadlock[];
}

/** A DaemonSet to which the next rollout adds tolerations, because TolerationPolicies already require them. */
export interface ReportedRollout {
  readonly namespace: string;
  readonly name: string;
  readonly requiredBy: readonly string[];
  /** How many gaps that closes. */
  readonly gaps: number;
}

export interface ReportOptions<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode> {
  readonly daemonSets: readonly DaemonSet[];
  readonly nodes: readonly Node[];
  /** Where pods are. Undefined for a DaemonSet whose pods are unknown. */
  readonly placements: ReadonlyMap<DaemonSet, Placement>;
  /** The startup taints that the leader removes, if the policies are known. */
  readonly startup?: StartupRules;
  /** Those in force, if they are known. */
  readonly tolerationPolicies?: readonly CompiledTolerationPolicy[];
  /** False: each node is a group of its own. */
  readonly grouped: boolean;
  /** Only DaemonSets with permanent gaps. */
  readonly onlyGaps: boolean;
}

export function reportCoverage<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode>(
  options: ReportOptions<DaemonSet, Node>,
): CoverageReport {
  const { nodes, placements, grouped, onlyGaps, startup = NO_STARTUP_RULES } = options;
  const groupsOfAll = groupNodes(options.daemonSets, nodes, startup);
  const gaps = findGaps(options.daemonSets, groupsOfAll).filter(({ isTransient }) => !(isTransient && onlyGaps));
  const withGaps = new Set(gaps.map(({ daemonSet }) => daemonSet));
  const daemonSets = options.daemonSets.filter((daemonSet) => !onlyGaps || withGaps.has(daemonSet));
  const { closed, left } = fixGaps(gaps, ROLE_TAINT_KEYS, options.tolerationPolicies);
  const groupsOfShown = () => (onlyGaps ? groupNodes(daemonSets, nodes, startup) : groupsOfAll);
  const groups = grouped ? groupsOfShown() : eachNode(daemonSets, nodes, startup);
  return {
    nodeGroups: groups.map(({ nodes }, index) => {
      const { roles, taints, labels, partly } = traitsOf(nodes, daemonSets);
      const differ = partly.roles.size + partly.taints.size > 0;
      const virtual = virtualNodeLabel(nodes[0]);
      return {
        id: groupId(index),
        nodes: namesOf(nodes),
        roles,
        taints: taints.map(formatTaint),
        labels,
        ...(differ
          ? { partly: { roles: Object.fromEntries(partly.roles), taints: Object.fromEntries(partly.taints) } }
          : {}),
        ...(virtual ? { virtual: virtual.join('=') } : {}),
      };
    }),
    daemonSets: daemonSets.map((daemonSet) => ({
      namespace: daemonSet.namespace,
      name: daemonSet.name,
      cells: groups.map(({ nodes, coverageOf }, index) => {
        const found = coverageOf(daemonSet);
        return {
          group: groupId(index),
          ...reportResult(found, grouped ? summarizeObstacle : formatObstacle),
          ...reportPods(found.coverage, nodes, placements.get(daemonSet)),
        };
      }),
    })),
    gaps: gaps.map(({ daemonSet, taints, nodes, isTransient }) => {
      const deadlocks = startupDeadlocks(daemonSet, taints, startup);
      return {
        namespace: daemonSet.namespace,
        name: daemonSet.name,
        taints: taints.map(formatTaint),
        nodes: namesOf(nodes),
        passing: isTransient,
        ...(deadlocks.length > 0 ? { deadlocks } : {}),
      };
    }),
    closable: closed.length,
    rollouts: rolloutsOf(left),
    askable: [...new Set(left.flatMap(({ because }) => (because.kind === 'keyNotNamed' ? because.keys : [])))],
  };
}

function rolloutsOf(left: readonly LeftGap<FixableDaemonSet, SchedulingNode>[]): ReportedRollout[] {
  const required = left.flatMap(({ gap: { daemonSet }, because }) =>
    because.kind === 'alreadyRequired' ? [{ daemonSet, by: because.by }] : [],
  );
  return [...Map.groupBy(required, ({ daemonSet }) => daemonSet)].map(([{ namespace, name }, own]) => ({
    namespace,
    name,
    requiredBy: [...new Set(own.flatMap(({ by }) => by))],
    gaps: own.length,
  }));
}

function reportResult({ coverage, taintsAlone }: NodeCoverage, say: (obstacle: Obstacle) => string) {
  if (coverage.runs) {
    const evictions = lastingEvictions(coverage).map(({ taint, seconds }) => ({ taint: formatTaint(taint), seconds }));
    return { runs: true, ...(evictions.length > 0 ? { evictions } : {}) };
  }
  const { staysIfThere, obstacles } = coverage;
  return {
    runs: false,
    staysIfThere,
    ...(taintsAlone?.permanent.length === 0 ? { passing: true } : {}),
    obstacles: obstacles.map((obstacle) => ({ kind: obstacle.kind, what: say(obstacle) })),
  };
}

function reportPods(
  coverage: Coverage,
  nodes: readonly SchedulingNode[],
  placement: Placement | undefined,
): Pick<ReportedCell, 'pods'> {
  if (!placement) return {};
  const { runs } = coverage;
  // A pod may run there by a toleration that cannot be evaluated.
  const isUnknown = !coverage.runs && coverage.obstacles.some(({ kind }) => kind === 'unknown');
  const there = nodes.filter(({ name }) => placement.get(name)?.state === 'scheduled');
  return {
    pods: {
      scheduled: there.length,
      missing: runs ? missingPods(placement, namesOf(nodes)) : [],
      staying: runs || isUnknown ? [] : namesOf(there),
    },
  };
}

function namesOf(nodes: readonly SchedulingNode[]): string[] {
  return nodes.map(({ name }) => name);
}

/** `A` to `Z`, `AA`, `AB`, … */
export function groupId(index: number): string {
  const letter = String.fromCharCode('A'.charCodeAt(0) + (index % 26));
  return index < 26 ? letter : `${groupId(Math.floor(index / 26) - 1)}${letter}`;
}
