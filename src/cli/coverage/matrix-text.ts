import { partlyText } from '../../coverage/node-traits.ts';
import type { CoverageReport, ReportedCell, ReportedGroup } from '../../coverage/report.ts';
import type { StateCell } from '../../explain/display.ts';
import type { Obstacle } from '../../scheduling/obstacle.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../output/look.ts';
import { columns, textOf } from '../output/table.ts';
import { nameCell, namesCell } from './cells.ts';

/** Where DaemonSets run: groups of nodes and a matrix, or a line for each node. */
export function matrixText(report: CoverageReport, grouped: boolean, look: Look): string[] {
  if (report.daemonSets.length === 0) return [];
  return grouped ? [groupTable(report, look), ...matrices(report, look)] : [list(report, look)];
}

/** The maximum number of groups side by side. */
const GROUPS_ABREAST = 10;

function groupTable({ nodeGroups }: CoverageReport, look: Look): string {
  return columns(
    [
      ['GROUP', 'NODES', 'WHICH', 'ROLES', 'LABELS', 'TAINTS'],
      ...nodeGroups.map(({ id, nodes, roles, taints, labels, partly }) => [
        id,
        String(nodes.length),
        namesCell(nodes, look),
        namesCell([...roles, ...partlyTexts(partly?.roles, nodes)], look),
        namesCell(
          Object.entries(labels).map(([key, value]) => `${key}=${value}`),
          look,
        ),
        namesCell([...taints, ...partlyTexts(partly?.taints, nodes)], look),
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
      nameCell(daemonSet),
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
          nameCell(daemonSet),
          namesCell(nodeGroups[index]?.nodes ?? [], look),
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
