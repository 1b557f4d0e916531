import type { PriorityFinding } from '../../coverage/findings/priority.ts';
import { podsOnVirtualNodes } from '../../coverage/findings/virtual-node-pods.ts';
import type { WideToleration } from '../../coverage/findings/wide-tolerations.ts';
import { rolloutCommandFor } from '../../coverage/gap-remedy.ts';
import type { CoverageReport } from '../../coverage/report.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../output/look.ts';
import { columns } from '../output/table.ts';
import { nameCell, namesCell } from './cells.ts';
import type { RefusedDaemonSet } from './coverage-input.ts';

/** Findings besides where DaemonSets run. */
export interface Findings {
  /** DaemonSets that the API server would refuse. */
  readonly refused: readonly RefusedDaemonSet[];
  readonly notes: readonly string[];
  /** DaemonSets without a priority class on which other pods depend. */
  readonly critical?: readonly PriorityFinding[];
  /** DaemonSets whose pods do not fit on their nodes. */
  readonly crowdedOut?: readonly PriorityFinding[];
  /** Workloads that tolerate drained or dead nodes. */
  readonly wideTolerations?: readonly WideToleration[];
}

/** A table of findings, without the look. */
interface FindingTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The tables of what was found, each below its title. Without findings, there is no table. */
export function findingTables(
  report: CoverageReport,
  { refused, critical = [], crowdedOut = [], wideTolerations = [] }: Findings,
  look: Look,
): string[] {
  const tables: readonly FindingTable[] = [
    refusedTable(refused),
    gapTable('Kept off by taints:', report, look, false),
    gapTable('Kept off for a while, by taints that Kubernetes or an agent removes:', report, look, true),
    rolloutTable(report, look),
    deadlockTable(report, look),
    evictionTable(report, look),
    virtualNodeTable(report, look),
    unknownTable(report, look),
    missingPodTable(report, look),
    stayingPodTable(report, look),
    crowdedOutTable(crowdedOut, look),
    criticalTable(critical),
    wideTable(wideTolerations),
  ];
  return tables.flatMap(({ title, head, rows }) =>
    rows.length === 0 ? [] : [`${title}\n${columns([head, ...rows], look)}`],
  );
}

function refusedTable(refused: readonly RefusedDaemonSet[]): FindingTable {
  return {
    title: 'The API server refuses these:',
    head: ['DAEMONSET', 'WHY'],
    rows: refused.flatMap(({ problems, ...daemonSet }) =>
      problems.map((problem, index) => [index === 0 ? nameCell(daemonSet) : '', printable(problem)]),
    ),
  };
}

function gapTable(title: string, { gaps }: CoverageReport, look: Look, isTransient: boolean): FindingTable {
  return {
    title,
    head: ['DAEMONSET', 'NODES', 'WHICH', 'TAINTS'],
    rows: gaps
      .filter((gap) => gap.passing === isTransient)
      .map((gap) => [nameCell(gap), ...nodeCells(gap.nodes, look), namesCell(gap.taints, look)]),
  };
}

function rolloutTable({ rollouts }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Get tolerations from the next rollout on, because a TolerationPolicy already requires them:',
    head: ['DAEMONSET', 'TOLERATIONPOLICY', 'ROLLOUT'],
    rows: rollouts.map((one) => [nameCell(one), namesCell(one.requiredBy, look), rolloutCommandFor(one)]),
  };
}

function deadlockTable({ gaps }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Never start, because the taint is removed only when the DaemonSet is ready:',
    head: ['DAEMONSET', 'TAINT', 'TAINTPOLICY'],
    rows: gaps.flatMap((gap) =>
      (gap.deadlocks ?? []).map(({ taint, policies }) => [nameCell(gap), printable(taint), namesCell(policies, look)]),
    ),
  };
}

function evictionTable({ daemonSets, nodeGroups }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Evicted repeatedly, because of a toleration with tolerationSeconds:',
    head: ['DAEMONSET', 'NODES', 'WHICH', 'TAINT', 'AFTER'],
    rows: daemonSets.flatMap((daemonSet) =>
      daemonSet.cells.flatMap(({ evictions = [] }, index) => {
        const nodes = nodeCells(nodeGroups[index]?.nodes ?? [], look);
        return evictions.map(({ taint, seconds }) => [nameCell(daemonSet), ...nodes, printable(taint), `${seconds} s`]);
      }),
    ),
  };
}

function virtualNodeTable(report: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Pending for good on virtual nodes, which run no DaemonSets:',
    head: ['DAEMONSET', 'NODES', 'WHICH', 'CHANGE'],
    rows: podsOnVirtualNodes(report).map(({ nodes, change, ...daemonSet }) => [
      nameCell(daemonSet),
      ...nodeCells(nodes, look),
      change,
    ]),
  };
}

/** A feature gate of the cluster decides whether `Gt` and `Lt` have an effect. */
function unknownTable({ daemonSets, nodeGroups }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Unknown, because tolerations with Gt and Lt depend on a feature gate:',
    head: ['DAEMONSET', 'NODES', 'WHICH', 'WHY'],
    rows: daemonSets.flatMap((daemonSet) =>
      daemonSet.cells.flatMap(({ obstacles = [] }, index) => {
        const unknown = obstacles.filter(({ kind }) => kind === 'unknown');
        const { nodes = [], virtual } = nodeGroups[index] ?? {};
        if (virtual !== undefined) return [];
        return unknown.map(({ what }) => [
          nameCell(daemonSet),
          ...nodeCells(nodes, look),
          printable(what.replace(/^unknown: /, '')),
        ]);
      }),
    ),
  };
}

function missingPodTable({ daemonSets }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Missing pods:',
    head: ['DAEMONSET', 'NODES', 'WHICH', 'WHY'],
    rows: daemonSets.flatMap((daemonSet) => {
      const pods = daemonSet.cells.flatMap(({ pods }) => pods?.missing ?? []);
      return [...Map.groupBy(pods, ({ why }) => why)].map(([why, missing]) => {
        const nodes = missing.map(({ node }) => node);
        return [nameCell(daemonSet), ...nodeCells(nodes, look), printable(why)];
      });
    }),
  };
}

function stayingPodTable({ daemonSets }: CoverageReport, look: Look): FindingTable {
  return {
    title: 'Still running, and would not be scheduled today:',
    head: ['DAEMONSET', 'NODES', 'WHICH'],
    rows: daemonSets.flatMap((daemonSet) => {
      const nodes = daemonSet.cells.flatMap(({ pods }) => pods?.staying ?? []);
      return nodes.length > 0 ? [[nameCell(daemonSet), ...nodeCells(nodes, look)]] : [];
    }),
  };
}

function crowdedOutTable(findings: readonly PriorityFinding[], look: Look): FindingTable {
  return {
    title: 'Pending on full nodes:',
    head: ['DAEMONSET', 'NODES', 'WHICH', 'WHY', 'CHANGE'],
    rows: findings.map((finding) => [
      nameCell(finding),
      ...nodeCells(finding.nodes, look),
      printable(finding.why),
      printable(finding.change),
    ]),
  };
}

function criticalTable(findings: readonly PriorityFinding[]): FindingTable {
  return {
    title: 'Other pods depend on these, and they have no priority class:',
    head: ['DAEMONSET', 'WHY', 'CHANGE'],
    rows: findings.map((finding) => [nameCell(finding), printable(finding.why), printable(finding.change)]),
  };
}

function wideTable(wide: readonly WideToleration[]): FindingTable {
  return {
    title: 'Tolerate drained or dead nodes:',
    head: ['WORKLOAD', 'TOLERATES', 'RESULT', 'CHANGE'],
    rows: wide.map(({ kind, namespace, name, toleration, returnsTo, staysOn, change }) => [
      printable(`${kind} ${namespace}/${name}`),
      printable(toleration),
      [
        ...(returnsTo.length > 0 ? ['returns to drained nodes'] : []),
        ...(staysOn.length > 0 ? ['stays bound to dead nodes'] : []),
      ].join('; '),
      printable(change),
    ]),
  };
}

/** How many nodes, and which. */
function nodeCells(nodes: readonly string[], look: Look): readonly [count: string, names: string] {
  return [String(nodes.length), namesCell(nodes, look)];
}
