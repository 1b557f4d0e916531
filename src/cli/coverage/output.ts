import { partlyText } from '../../coverage/node-groups.ts';
import type { PriorityFinding } from '../../coverage/priority.ts';
import type { CoverageReport, ReportedCell, ReportedDaemonSet, ReportedGroup } from '../../coverage/report.ts';
import type { WideToleration } from '../../coverage/wide-tolerations.ts';
import type { StateCell } from '../../explain/sections.ts';
import { count, printable, shellWord } from '../../kubernetes/text.ts';
import { excludingVirtualNodes, type Obstacle } from '../../scheduling/obstacle.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { columns, namesIn, textOf } from '../output/table.ts';
import type { RefusedDaemonSet } from './input.ts';

/** The result of `taintkeeper coverage` as text. */
export function formatCoverage(
  report: CoverageReport,
  { grouped, format, ...findings }: Findings & { readonly grouped: boolean; readonly format: OutputFormat },
): string {
  return formatAs(format, {
    data: () => ({ ...report, ...findings }),
    table: (look) => table(report, grouped, findings, look),
  });
}

/** Findings besides where DaemonSets run. */
interface Findings {
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

function table(
  report: CoverageReport,
  grouped: boolean,
  { refused, notes, critical = [], crowdedOut = [], wideTolerations = [] }: Findings,
  look: Look,
): string {
  return [
    ...(report.daemonSets.length === 0
      ? []
      : grouped
        ? [groupTable(report, look), ...matrices(report, look)]
        : [list(report, look)]),
    ...refusedTable(refused, look),
    ...gapTables(report, look),
    ...deadlockTable(report, look),
    ...evictionTables(report, look),
    ...virtualNodeTables(report, look),
    ...unknownTables(report, look),
    ...podTables(report, look),
    ...crowdedOutTable(crowdedOut, look),
    ...criticalTable(critical, look),
    ...wideTable(wideTolerations, look),
    ...(notes.length > 0 ? [notes.map((note) => `note: ${printable(note)}\n`).join('')] : []),
    conclusion(report, refused, look),
  ].join('\n');
}

/** How many nodes are named. */
const NAMES = 4;
/** The maximum number of groups side by side. */
const GROUPS_ABREAST = 10;

function groupTable({ nodeGroups }: CoverageReport, look: Look): string {
  return columns(
    [
      ['GROUP', 'NODES', 'WHICH', 'ROLES', 'LABELS', 'TAINTS'],
      ...nodeGroups.map(({ id, nodes, roles, taints, labels, partly }) => [
        id,
        String(nodes.length),
        some(nodes, look),
        some([...roles, ...partlyTexts(partly?.roles, nodes)], look),
        some(
          Object.entries(labels).map(([key, value]) => `${key}=${value}`),
          look,
        ),
        some([...taints, ...partlyTexts(partly?.taints, nodes)], look),
      ]),
    ],
    look,
  );
}

function partlyTexts(counts: Readonly<Record<string, number>> = {}, nodes: readonly string[]): string[] {
  return Object.entries(counts).map((one) => partlyText(one, nodes));
}

/** Groups side by side, as many as fit. */
function matrices({ nodeGroups, daemonSets }: CoverageReport, look: Look): string[] {
  const rows = [
    ['DAEMONSET', ...nodeGroups.map(({ id }) => id)],
    ...daemonSets.map((daemonSet) => [
      nameOf(daemonSet),
      ...daemonSet.cells.map((cell, index) => formatCell(cell, nodeGroups[index])),
    ]),
  ];
  const widthOf = (column: number) => 2 + Math.max(...rows.map((row) => textOf(row[column]).length));
  const room = (look.width ?? Number.POSITIVE_INFINITY) - widthOf(0) + 2;
  const blocks: number[][] = [];
  for (const [index] of nodeGroups.entries()) {
    const block = blocks.at(-1);
    const width = [...(block ?? []), index + 1].reduce((sum, column) => sum + widthOf(column), 0);
    if (block && (look.wide || (block.length < GROUPS_ABREAST && width <= room))) block.push(index + 1);
    else blocks.push([index + 1]);
  }
  return blocks.map((block) =>
    columns(
      rows.map((row) => [row[0] ?? '', ...block.map((column) => row[column] ?? '')]),
      look,
    ),
  );
}

/** Each DaemonSet on each group of nodes, a line each. */
function list({ nodeGroups, daemonSets }: CoverageReport, look: Look): string {
  return columns(
    [
      ['DAEMONSET', 'NODE', 'COVERAGE', 'WHY'],
      ...daemonSets.flatMap((daemonSet) =>
        daemonSet.cells.map((cell, index) => [
          nameOf(daemonSet),
          some(nodeGroups[index]?.nodes ?? [], look),
          formatCell(cell, nodeGroups[index]),
          printable([...(cell.obstacles ?? []).map(({ what }) => what), ...missingOf(cell)].join('; ')),
        ]),
      ),
    ],
    look,
  );
}

const missingOf = ({ pods }: ReportedCell) => (pods?.missing ?? []).map(({ why }) => why);

const WORDS: Readonly<Record<Obstacle['kind'], string>> = {
  taint: 'taint',
  unknown: 'unknown',
  virtualNode: 'virtual',
  nodeSelector: 'selector',
  nodeAffinity: 'affinity',
  nodeName: 'nodeName',
};

function formatCell(
  { runs, evictions = [], passing, obstacles = [], pods }: ReportedCell,
  group: ReportedGroup | undefined,
): StateCell {
  const { scheduled = 0, missing = [], staying = [] } = pods ?? {};
  if (group?.virtual !== undefined) {
    return runs ? { text: 'pending', level: 'attention' } : { text: 'virtual', level: 'quiet' };
  }
  if (runs) {
    const runsOn = missing.length > 0 ? `runs ${scheduled}/${scheduled + missing.length}` : 'runs';
    const seconds = evictions.map((eviction) => eviction.seconds);
    const text = seconds.length > 0 ? `${runsOn} (${Math.min(...seconds)} s)` : runsOn;
    return { text, level: missing.length + seconds.length === 0 ? 'ok' : 'attention' };
  }
  const kinds = [...new Set(obstacles.map(({ kind }) => kind))];
  const reason = passing ? 'waits' : kinds.map((kind) => WORDS[kind]).join('+');
  if (staying.length > 0) return { text: `${reason} (${staying.length} stay)`, level: 'attention' };
  return { text: reason, level: passing ? 'attention' : kinds.join() === 'taint' ? 'failed' : 'quiet' };
}

function refusedTable(refused: readonly RefusedDaemonSet[], look: Look): string[] {
  const rows = refused.flatMap(({ problems, ...daemonSet }) =>
    problems.map((problem, index) => [index === 0 ? nameOf(daemonSet) : '', printable(problem)]),
  );
  return rows.length > 0 ? [`The API server refuses these:\n${columns([['DAEMONSET', 'WHY'], ...rows], look)}`] : [];
}

function gapTables({ gaps }: CoverageReport, look: Look): string[] {
  const titled = (title: string, passing: boolean) => {
    const titledGaps = gaps.filter((gap) => gap.passing === passing);
    if (titledGaps.length === 0) return [];
    const rows = titledGaps.map((gap) => [
      nameOf(gap),
      String(gap.nodes.length),
      some(gap.nodes, look),
      some(gap.taints, look),
    ]);
    return [`${title}\n${columns([['DAEMONSET', 'NODES', 'WHICH', 'TAINTS'], ...rows], look)}`];
  };
  return [
    ...titled('Kept off by taints:', false),
    ...titled('Kept off for a while, by taints that Kubernetes or an agent removes:', true),
  ];
}

function deadlockTable({ gaps }: CoverageReport, look: Look): string[] {
  const rows = gaps.flatMap((gap) =>
    (gap.deadlocks ?? []).map(({ taint, policies }) => [nameOf(gap), printable(taint), some(policies, look)]),
  );
  const text = () => columns([['DAEMONSET', 'TAINT', 'TAINTPOLICY'], ...rows], look);
  return rows.length > 0
    ? [`Never start, because the taint is removed only when the DaemonSet is ready:\n${text()}`]
    : [];
}

function evictionTables({ daemonSets, nodeGroups }: CoverageReport, look: Look): string[] {
  const rows = daemonSets.flatMap((daemonSet) =>
    daemonSet.cells.flatMap(({ evictions = [] }, index) => {
      const nodes = nodeGroups[index]?.nodes ?? [];
      return evictions.map(({ taint, seconds }) => [
        nameOf(daemonSet),
        String(nodes.length),
        some(nodes, look),
        printable(taint),
        `${seconds} s`,
      ]);
    }),
  );
  const text = () => columns([['DAEMONSET', 'NODES', 'WHICH', 'TAINT', 'AFTER'], ...rows], look);
  return rows.length > 0 ? [`Evicted repeatedly, because of a toleration with tolerationSeconds:\n${text()}`] : [];
}

/** The DaemonSets that get pods on virtual nodes, and the change that leaves those nodes out. */
function virtualNodeTables({ daemonSets, nodeGroups }: CoverageReport, look: Look): string[] {
  const rows = daemonSets.flatMap((daemonSet) =>
    [...Map.groupBy(nodeGroups, ({ virtual }) => virtual)].flatMap(([virtual, groups]) => {
      const ids = new Set(groups.map(({ id }) => id));
      const isMade = daemonSet.cells.filter(({ group, runs }) => runs && ids.has(group)).map(({ group }) => group);
      const nodes = groups.flatMap(({ id, nodes }) => (isMade.includes(id) ? nodes : []));
      if (virtual === undefined || nodes.length === 0) return [];
      const [key = '', value = ''] = virtual.split('=');
      return [[nameOf(daemonSet), String(nodes.length), some(nodes, look), excludingVirtualNodes([key, value])]];
    }),
  );
  const text = () => columns([['DAEMONSET', 'NODES', 'WHICH', 'CHANGE'], ...rows], look);
  return rows.length > 0 ? [`Pending for good on virtual nodes, which run no DaemonSets:\n${text()}`] : [];
}

/** Unknown results: a feature gate of the cluster decides whether `Gt` and `Lt` have an effect. */
function unknownTables({ daemonSets, nodeGroups }: CoverageReport, look: Look): string[] {
  const rows = daemonSets.flatMap((daemonSet) =>
    daemonSet.cells.flatMap(({ obstacles = [] }, index) => {
      const unknown = obstacles.filter(({ kind }) => kind === 'unknown');
      const { nodes = [], virtual } = nodeGroups[index] ?? {};
      if (virtual !== undefined) return [];
      return unknown.map(({ what }) => [
        nameOf(daemonSet),
        String(nodes.length),
        some(nodes, look),
        printable(what.replace(/^unknown: /, '')),
      ]);
    }),
  );
  const text = () => columns([['DAEMONSET', 'NODES', 'WHICH', 'WHY'], ...rows], look);
  return rows.length > 0 ? [`Unknown, because tolerations with Gt and Lt depend on a feature gate:\n${text()}`] : [];
}

function podTables({ daemonSets, nodeGroups }: CoverageReport, look: Look): string[] {
  const missing = daemonSets.flatMap((daemonSet) => {
    const pods = daemonSet.cells.flatMap(({ pods }) => pods?.missing ?? []);
    return [...Map.groupBy(pods, ({ why }) => why)].map(([why, found]) => [
      nameOf(daemonSet),
      String(found.length),
      some(
        found.map(({ node }) => node),
        look,
      ),
      printable(why),
    ]);
  });
  const staying = daemonSets.flatMap((daemonSet) => {
    const nodes = daemonSet.cells.flatMap(({ pods }) => pods?.staying ?? []);
    return nodes.length > 0 ? [[nameOf(daemonSet), String(nodes.length), some(nodes, look)]] : [];
  });
  if (nodeGroups.length === 0) return [];
  return [
    ...(missing.length > 0
      ? [`Missing pods:\n${columns([['DAEMONSET', 'NODES', 'WHICH', 'WHY'], ...missing], look)}`]
      : []),
    ...(staying.length > 0
      ? [
          `Still running, and would not be scheduled today:\n${columns([['DAEMONSET', 'NODES', 'WHICH'], ...staying], look)}`,
        ]
      : []),
  ];
}

function crowdedOutTable(findings: readonly PriorityFinding[], look: Look): string[] {
  const rows = findings.map((finding) => [
    nameOf(finding),
    String(finding.nodes.length),
    some(finding.nodes, look),
    printable(finding.why),
    printable(finding.change),
  ]);
  const text = () => columns([['DAEMONSET', 'NODES', 'WHICH', 'WHY', 'CHANGE'], ...rows], look);
  return rows.length > 0 ? [`Pending on full nodes:\n${text()}`] : [];
}

function criticalTable(findings: readonly PriorityFinding[], look: Look): string[] {
  const rows = findings.map((finding) => [nameOf(finding), printable(finding.why), printable(finding.change)]);
  const text = () => columns([['DAEMONSET', 'WHY', 'CHANGE'], ...rows], look);
  return rows.length > 0 ? [`Other pods depend on these, and they have no priority class:\n${text()}`] : [];
}

function wideTable(wide: readonly WideToleration[], look: Look): string[] {
  const rows = wide.map(({ kind, namespace, name, toleration, returnsTo, staysOn, change }) => [
    printable(`${kind} ${namespace}/${name}`),
    printable(toleration),
    [
      ...(returnsTo.length > 0 ? ['returns to drained nodes'] : []),
      ...(staysOn.length > 0 ? ['stays bound to dead nodes'] : []),
    ].join('; '),
    printable(change),
  ]);
  const text = () => columns([['WORKLOAD', 'TOLERATES', 'RESULT', 'CHANGE'], ...rows], look);
  return rows.length > 0 ? [`Tolerate drained or dead nodes:\n${text()}`] : [];
}

/** The maximum number of keys on one line. */
const KEYS = 3;

function conclusion(report: CoverageReport, refused: readonly RefusedDaemonSet[], look: Look): string {
  if (refused.length === 0) return summary(report, look);
  const first = `${count(refused.length, 'DaemonSet')} refused by the API server: correct the tolerations first\n`;
  return report.daemonSets.length === 0 ? first : `${first}${summary(report, look)}`;
}

function summary({ gaps, closable, askable }: CoverageReport, look: Look): string {
  const lasting = gaps.filter(({ passing }) => !passing);
  if (lasting.length === 0) return 'no gaps: no taint keeps a DaemonSet off a node\n';
  const named = namesIn(askable, KEYS, look);
  const asking =
    askable.length > KEYS && !look.wide ? '--taint KEY' : askable.map((key) => `--taint ${shellWord(key)}`).join(' ');
  const advice =
    closable > 0
      ? `coverage fix prints the policies that close ${closable < lasting.length ? `${closable} of them` : 'all'}${
          askable.length > 0 ? `; for ${named} add ${asking}` : ''
        }`
      : `where DaemonSets should run there, coverage fix ${asking || '--taint KEY'} prints the policies for it`;
  return `${lasting.length} ${lasting.length === 1 ? 'gap' : 'gaps'}: ${advice}\n`;
}

function nameOf({ namespace, name }: Pick<ReportedDaemonSet, 'namespace' | 'name'>): string {
  return printable(`${namespace}/${name}`);
}

function some(names: readonly string[], look: Look): string {
  return namesIn(names, NAMES, look) || '-';
}
