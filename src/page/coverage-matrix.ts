import type { ClusterDaemonSet, ClusterNode } from '../cluster/objects/cluster-objects.ts';
import { type GapRemedy, gapRemedy } from '../coverage/gap-remedy.ts';
import { findGaps } from '../coverage/gaps.ts';
import { type NodeGroup as Alike, startGrouping } from '../coverage/node-groups.ts';
import { partlyText, traitsOf } from '../coverage/node-traits.ts';
import { type StartupRules, startupRulesOf } from '../coverage/startup-rules.ts';
import { compileNodeCoverage, type NodeCoverage, type TaintsAlone } from '../coverage/taints-alone.ts';
import { hasTooManyTolerations, optsOut } from '../judge/daemon-set-view.ts';
import { lackedByRunning } from '../judge/request/daemon-set.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { tolerates } from '../kubernetes/toleration.ts';
import { mutatingAmong } from '../policy/compiled-toleration-policy.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { daemonSetName } from '../policy/ready-when.ts';
import { longLoop } from '../runtime/long-loop.ts';
import { type Coverage, countCovered, lastingEvictions, summarizeEviction } from '../scheduling/coverage.ts';
import { summarizeObstacle } from '../scheduling/obstacle.ts';
import { isRollingOut } from '../scheduling/rollout.ts';
import { atMost } from '../text/counts.ts';
import { collectDistinct, type Distinct } from './distinct.ts';
import type { CoverageAnswer, CoverageMatrix, CoverageRow, NodeGroup } from './state.ts';

/** A wider matrix is not readable. */
const MAX_GROUPS = 200;
const MAX_EXAMPLES = 5;

/** The matrix, and what only the problems need of it. */
export interface EvaluatedCoverage {
  readonly shown: CoverageMatrix;
  /** The rows of the matrix, in order. */
  readonly daemonSets: readonly EvaluatedRow[];
}

export interface EvaluatedRow extends CoverageRow {
  /** True if nodes without it are of no use, as without their CNI. */
  readonly critical?: true;
  /** True if a TolerationPolicy of mode Mutate requires tolerations that it lacks. */
  readonly lacking?: true;
  /** The TolerationPolicies that add nothing to it, because its own tolerations come first, and end earlier. */
  readonly unchangedBy?: readonly string[];
  /** True if it tolerates only one of the two names of the control plane's taint, which is rarely intended. */
  readonly halfTolerant?: true;
  /** True if it has so many tolerations that no policy adds any. */
  readonly tooManyTolerations?: true;
  /** True while its pods are being replaced. */
  readonly rollingOut?: true;
  /** What lets it run on the nodes that it is kept off, if it is probably meant to run there. */
  readonly remedy?: GapRemedy;
}

/**
 * DaemonSets × groups of equal nodes.
 * @param policies those in force
 */
export async function coverageMatrix(
  daemonSets: readonly ClusterDaemonSet[],
  nodes: readonly ClusterNode[],
  policies: Pick<PolicySet, 'taintPolicies' | 'tolerationPolicies'>,
): Promise<EvaluatedCoverage> {
  const startup = startupRulesOf(policies.taintPolicies);
  const sorted = daemonSets.toSorted((a, b) => (daemonSetName(a) < daemonSetName(b) ? -1 : 1));
  const grouping = startGrouping<ClusterNode, Answer>(sorted, startup, answerOf);
  const unready = nodes.filter(({ ready }) => !ready);
  const letOthersRun = longLoop();
  for (const node of nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    await letOthersRun();
    grouping.add(node);
  }
  const all = grouping.groups();
  const shown = all.slice(0, MAX_GROUPS);
  const answers = collectDistinct<CoverageAnswer>();
  const groups: NodeGroup[] = [];
  for (const group of shown) {
    await letOthersRun();
    groups.push(describe(group, sorted));
  }
  const rows: CoverageRow[] = [];
  const evaluated: EvaluatedRow[] = [];
  for (const daemonSet of sorted) {
    // If no two nodes are equal, one row has thousands of groups.
    await letOthersRun();
    const facts = factsOf(daemonSet, policies.tolerationPolicies, unready);
    const plain = rowOf(daemonSet, all, shown.length, { startup, answers });
    const isKeptOff = plain.keptOff > 0 && !plain.optsOut;
    const isGap = isKeptOff && (facts.critical || facts.lacking);
    // No policy adds tolerations to a DaemonSet with so many.
    const hasRemedy = (isGap || (isKeptOff && facts.halfTolerant)) && !facts.tooManyTolerations;
    const remedy = hasRemedy ? remedyFor(daemonSet, all, startup, policies.tolerationPolicies) : undefined;
    const row: CoverageRow = { ...plain, ...(isGap ? { gap: true } : {}) };
    rows.push(row);
    evaluated.push({ ...row, ...facts, ...(remedy ? { remedy } : {}) });
  }
  return {
    shown: { groups, groupsLeftOut: all.length - shown.length, daemonSets: rows, answers: answers.list },
    daemonSets: evaluated,
  };
}

/** The facts about a DaemonSet that do not depend on the taints of the groups. @param unready the nodes that are not Ready */
function factsOf(
  daemonSet: ClusterDaemonSet,
  policies: PolicySet['tolerationPolicies'],
  unready: readonly ClusterNode[],
): Omit<EvaluatedRow, keyof CoverageRow | 'remedy'> {
  const { missing, cutShort } = lackedByRunning(daemonSet, { tolerationPolicies: mutatingAmong(policies) });
  const adding = new Set(missing.map(({ policy: { name } }) => name));
  const addingNone = cutShort.map(({ required }) => required.policy.name).filter((name) => !adding.has(name));
  return {
    ...(daemonSet.isCritical ? { critical: true } : {}),
    ...(missing.length > 0 ? { lacking: true } : {}),
    ...(addingNone.length > 0 ? { unchangedBy: [...new Set(addingNone)] } : {}),
    ...(isHalfTolerant(daemonSet) ? { halfTolerant: true } : {}),
    ...(hasTooManyTolerations(daemonSet) ? { tooManyTolerations: true } : {}),
    ...(isRollingOut(daemonSet, () => countCovered(daemonSet, unready)) ? { rollingOut: true } : {}),
  };
}

/** For a DaemonSet that is kept off nodes where it is probably meant to run. */
function remedyFor(
  daemonSet: ClusterDaemonSet,
  groups: readonly Group[],
  startup: StartupRules,
  policies: PolicySet['tolerationPolicies'],
): GapRemedy | undefined {
  const coverageOn = compileNodeCoverage(daemonSet, startup);
  const covered = groups.map(({ nodes }) => ({ nodes, coverageOf: () => coverageOn(nodes[0]) }));
  return gapRemedy(findGaps([daemonSet], covered), policies, daemonSet.isCritical);
}

function rowOf(
  daemonSet: ClusterDaemonSet,
  groups: readonly Group[],
  shown: number,
  { startup, answers }: { readonly startup: StartupRules; readonly answers: Distinct<CoverageAnswer> },
): Omit<CoverageRow, 'gap'> {
  const { namespace, name, status } = daemonSet;
  const countOf = (counts: (answer: Answer) => boolean) =>
    groups.reduce((sum, { coverageOf, nodes }) => sum + (counts(coverageOf(daemonSet)) ? nodes.length : 0), 0);
  const coverageOn = compileNodeCoverage(daemonSet, startup);
  const cells = groups.slice(0, shown).map(({ nodes: [node] }) => {
    const found = coverageOn(node);
    return answers.add({ ...answerOf(found), reasons: reasonsOf(found.coverage), ...keysOf(found.taintsAlone) }).index;
  });
  return {
    namespace,
    name,
    cells,
    runs: countOf(({ kind }) => kind === 'runs'),
    keptOff: countOf(({ kind, passing }) => (kind === 'tainted' || kind === 'stays') && !passing),
    desired: status.desired,
    unavailable: status.unavailable,
    ...(optsOut(daemonSet) ? { optsOut: true } : {}),
  };
}

function isHalfTolerant({ tolerations }: ClusterDaemonSet): boolean {
  const [one, other] = [OLD_ROLE, NEW_ROLE].map((key) =>
    tolerations.some((toleration) => tolerates(toleration, { key, effect: 'NoSchedule' })),
  );
  return one !== other;
}

/** Reasons are computed only for the groups that are shown, because they take longer than the rest. */
type Answer = Omit<CoverageAnswer, 'reasons' | 'keys'>;
type Group = Alike<ClusterNode, Answer>;

// One of each, because there may be millions of answers.
const RUNS: Answer = { kind: 'runs' };
const EVICTED: Answer = { kind: 'runs', evicted: true };
const ELSEWHERE: Answer = { kind: 'elsewhere' };
const PERMANENT = { stays: { kind: 'stays' }, tainted: { kind: 'tainted' } } as const satisfies Record<string, Answer>;
const TRANSIENT = {
  stays: { kind: 'stays', passing: true },
  tainted: { kind: 'tainted', passing: true },
} as const satisfies Record<string, Answer>;

function answerOf({ coverage, taintsAlone }: NodeCoverage): Answer {
  if (coverage.runs) return lastingEvictions(coverage).length > 0 ? EVICTED : RUNS;
  if (!taintsAlone) return ELSEWHERE;
  return (taintsAlone.permanent.length === 0 ? TRANSIENT : PERMANENT)[coverage.staysIfThere ? 'stays' : 'tainted'];
}

function reasonsOf(coverage: Coverage): readonly string[] {
  return coverage.runs ? lastingEvictions(coverage).map(summarizeEviction) : coverage.obstacles.map(summarizeObstacle);
}

/** The keys that a toleration would need. */
function keysOf(taintsAlone: TaintsAlone | undefined): Pick<CoverageAnswer, 'keys'> {
  const keys = (taintsAlone?.permanent ?? []).map(({ key }) => key);
  return keys.length > 0 ? { keys: [...new Set(keys)] } : {};
}

function describe({ nodes }: Group, daemonSets: readonly ClusterDaemonSet[]): NodeGroup {
  const { roles, taints, labels, partly } = traitsOf(nodes, daemonSets);
  const some = (counts: ReadonlyMap<string, number>) =>
    atMost(
      MAX_EXAMPLES,
      [...counts].map((one) => partlyText(one, nodes)),
    );
  const words = [...roles, ...some(partly.roles), ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)];
  return {
    label: words.join(', '),
    count: nodes.length,
    examples: nodes.slice(0, MAX_EXAMPLES).map(({ name }) => name),
    taints: [...taints.map(formatTaint), ...some(partly.taints)],
  };
}
