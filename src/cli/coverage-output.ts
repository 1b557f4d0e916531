import type { Obstacle } from '../coverage/coverage.ts';
import type { CoverageReport, ReportedCell, ReportedDaemonSet } from '../coverage/report.ts';
import { atMost, printable } from '../kubernetes/text.ts';
import type { OutputFormat } from './options.ts';
import { columns, formatAs } from './output.ts';

/** The result of `taintkeeper coverage` as text. */
export function formatCoverage(
  report: CoverageReport,
  { notes, grouped, format }: { notes: readonly string[]; grouped: boolean; format: OutputFormat },
): string {
  return formatAs(format, { data: () => ({ ...report, notes }), table: () => table(report, grouped, notes) });
}

function table(report: CoverageReport, grouped: boolean, notes: readonly string[]): string {
  return [
    ...(report.daemonSets.length === 0 ? [] : grouped ? [groupTable(report), ...matrices(report)] : [list(report)]),
    ...gapTables(report),
    ...evictionTables(report),
    ...podTables(report),
    ...(notes.length > 0 ? [notes.map((note) => `note: ${printable(note)}\n`).join('')] : []),
    summary(report),
  ].join('\n');
}

/** So many names of nodes say enough of many. */
const NAMES = 4;
/** So many groups side by side fit on a terminal. */
const GROUPS_ABREAST = 10;

function groupTable({ nodeGroups }: CoverageReport): string {
  return columns([
    ['GROUP', 'NODES', 'WHICH', 'ROLES', 'LABELS', 'TAINTS'],
    ...nodeGroups.map(({ id, nodes, roles, taints, labels }) => [
      id,
      String(nodes.length),
      some(nodes),
      some(roles),
      some(Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
      some(taints),
    ]),
  ]);
}

function matrices({ nodeGroups, daemonSets }: CoverageReport): string[] {
  const blocks = Math.ceil(nodeGroups.length / GROUPS_ABREAST);
  return Array.from({ length: blocks }, (_, block) => {
    const from = block * GROUPS_ABREAST;
    const to = from + GROUPS_ABREAST;
    return columns([
      ['DAEMONSET', ...nodeGroups.slice(from, to).map(({ id }) => id)],
      ...daemonSets.map((daemonSet) => [nameOf(daemonSet), ...daemonSet.cells.slice(from, to).map(formatCell)]),
    ]);
  });
}

/** Each DaemonSet on each node, one line after the other. */
function list({ nodeGroups, daemonSets }: CoverageReport): string {
  return columns([
    ['DAEMONSET', 'NODE', 'COVERAGE', 'WHY'],
    ...daemonSets.flatMap((daemonSet) =>
      daemonSet.cells.map((cell, index) => [
        nameOf(daemonSet),
        some(nodeGroups[index]?.nodes ?? []),
        formatCell(cell),
        printable([...(cell.obstacles ?? []).map(({ what }) => what), ...missingOf(cell)].join('; ')),
      ]),
    ),
  ]);
}

const missingOf = ({ pods }: ReportedCell) => (pods?.missing ?? []).map(({ why }) => why);

const WORDS: Readonly<Record<Obstacle['kind'], string>> = {
  taint: 'taint',
  nodeSelector: 'selector',
  nodeAffinity: 'affinity',
  nodeName: 'nodeName',
};

function formatCell({ runs, evictions = [], passing, obstacles = [], pods }: ReportedCell): string {
  const { scheduled = 0, missing = [], staying = [] } = pods ?? {};
  if (runs) {
    const found = missing.length > 0 ? `runs ${scheduled}/${scheduled + missing.length}` : 'runs';
    return evictions.length > 0 ? `${found} (${Math.min(...evictions.map(({ seconds }) => seconds))} s)` : found;
  }
  const reason = passing ? 'waits' : [...new Set(obstacles.map(({ kind }) => WORDS[kind]))].join('+');
  return staying.length > 0 ? `${reason} (${staying.length} stay)` : reason;
}

function gapTables({ gaps }: CoverageReport): string[] {
  const titled = (title: string, passing: boolean) => {
    const found = gaps.filter((gap) => gap.passing === passing);
    if (found.length === 0) return [];
    const rows = found.map((gap) => [nameOf(gap), String(gap.nodes.length), some(gap.nodes), some(gap.taints)]);
    return [`${title}\n${columns([['DAEMONSET', 'NODES', 'WHICH', 'TAINTS'], ...rows])}`];
  };
  return [
    ...titled('Kept off by taints:', false),
    ...titled('Kept off for a while, by taints that come and go by themselves:', true),
  ];
}

function evictionTables({ daemonSets, nodeGroups }: CoverageReport): string[] {
  const rows = daemonSets.flatMap((daemonSet) =>
    daemonSet.cells.flatMap(({ evictions = [] }, index) => {
      const nodes = nodeGroups[index]?.nodes ?? [];
      return evictions.map(({ taint, seconds }) => [
        nameOf(daemonSet),
        String(nodes.length),
        some(nodes),
        printable(taint),
        `${seconds} s`,
      ]);
    }),
  );
  const text = () => columns([['DAEMONSET', 'NODES', 'WHICH', 'TAINT', 'AFTER'], ...rows]);
  return rows.length > 0 ? [`Evicted each time, by a toleration with tolerationSeconds:\n${text()}`] : [];
}

function podTables({ daemonSets, nodeGroups }: CoverageReport): string[] {
  const missing = daemonSets.flatMap((daemonSet) => {
    const pods = daemonSet.cells.flatMap(({ pods }) => pods?.missing ?? []);
    return [...Map.groupBy(pods, ({ why }) => why)].map(([why, found]) => [
      nameOf(daemonSet),
      String(found.length),
      some(found.map(({ node }) => node)),
      printable(why),
    ]);
  });
  const staying = daemonSets.flatMap((daemonSet) => {
    const nodes = daemonSet.cells.flatMap(({ pods }) => pods?.staying ?? []);
    return nodes.length > 0 ? [[nameOf(daemonSet), String(nodes.length), some(nodes)]] : [];
  });
  if (nodeGroups.length === 0) return [];
  return [
    ...(missing.length > 0 ? [`Missing pods:\n${columns([['DAEMONSET', 'NODES', 'WHICH', 'WHY'], ...missing])}`] : []),
    ...(staying.length > 0
      ? [`Still running, and would not be scheduled today:\n${columns([['DAEMONSET', 'NODES', 'WHICH'], ...staying])}`]
      : []),
  ];
}

function summary({ gaps, closable }: CoverageReport): string {
  const lasting = gaps.filter(({ passing }) => !passing);
  if (lasting.length === 0) return 'no gaps: no taint keeps a DaemonSet off a node\n';
  const advice =
    closable > 0
      ? `--fix prints the policies that close ${closable < lasting.length ? `${closable} of them` : 'all'}`
      : 'where DaemonSets should run there, --fix --taint KEY prints the policies for it';
  return `${lasting.length} ${lasting.length === 1 ? 'gap' : 'gaps'}: ${advice}\n`;
}

function nameOf({ namespace, name }: Pick<ReportedDaemonSet, 'namespace' | 'name'>): string {
  return printable(`${namespace}/${name}`);
}

function some(names: readonly string[]): string {
  return printable(atMost(NAMES, names).join(', ')) || '-';
}
