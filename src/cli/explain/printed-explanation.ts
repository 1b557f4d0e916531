import type { Cell, FormattedExplanation, Section, Step } from '../../explain/display.ts';
import { type DaemonSetExplanation, formatDaemonSet } from '../../explain/explain-daemon-set.ts';
import { formatNode, type NodeExplanation } from '../../explain/explain-node.ts';
import { formatPod, type PodExplanation } from '../../explain/explain-pod.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { printable } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { columns, namesIn, type TableCell } from '../output/table.ts';

/** An explanation in the format of `-o`. */
export interface PrintedExplanation {
  readonly text: string;
  /** See {@link FormattedExplanation.isOk}. */
  readonly isOk: boolean;
}

export function printNode(explained: NodeExplanation, output: OutputFormat): PrintedExplanation {
  return print(formatNode(explained), () => nodeData(explained), output);
}

export function printDaemonSet(explained: DaemonSetExplanation, output: OutputFormat): PrintedExplanation {
  return print(formatDaemonSet(explained), () => daemonSetData(explained), output);
}

export function printPod(explained: PodExplanation, output: OutputFormat): PrintedExplanation {
  return print(formatPod(explained), () => podData(explained), output);
}

function print(explanation: FormattedExplanation, data: () => object, output: OutputFormat): PrintedExplanation {
  const { next, isOk } = explanation;
  const text = formatAs(output, {
    data: () => ({ ...data(), next: stepText(next) }),
    table: (look) => explanationText(explanation, look),
  });
  return { text, isOk };
}

function nodeData({ taints, writtenBy, fromLeader: _, ...rest }: NodeExplanation): object {
  return {
    ...rest,
    taints: taints.map(({ taint, ...one }) => ({ taint: formatTaint(taint), ...one })),
    ...by(writtenBy),
  };
}

function daemonSetData({
  permanentTaints,
  waiting,
  notRequired,
  addedAgain: _,
  writtenBy,
  ...rest
}: DaemonSetExplanation): object {
  return {
    ...rest,
    places: placesData(rest.places),
    gaps: texts(permanentTaints),
    waiting: texts(waiting),
    notRequired: texts(notRequired),
    ...by(writtenBy),
  };
}

function podData({ permanentTaints, waiting, ...rest }: PodExplanation): object {
  return { ...rest, places: placesData(rest.places), gaps: texts(permanentTaints), waiting: texts(waiting) };
}

/** `why` names the taints that evict pods. */
function placesData(places: PodExplanation['places']): object[] {
  return places.map(({ evictedBy: _, ...place }) => place);
}

function texts(taints: readonly Taint[]): string[] {
  return [...new Set(taints.map(formatTaint))];
}

function by(writtenBy: NodeExplanation['writtenBy']): object {
  return writtenBy ? { writtenBy: { ...writtenBy, fieldsV1: undefined } } : {};
}

function explanationText({ sections, next }: FormattedExplanation, look: Look): string {
  const parts = sections.map((section) => sectionText(section, look));
  return [...parts, nextText(next)].join('\n');
}

function sectionText(section: Section, look: Look): string {
  if ('lines' in section) return section.lines.map((line) => `${printable(line)}\n`).join('');
  const { head, rows } = section;
  const cells = rows.map((row) => row.map((cell) => tableCell(cell, look)));
  return columns([head.map((title) => title.toUpperCase()), ...cells], look);
}

/** How many nodes are named. */
const NAMES = 4;

function tableCell(cell: Cell, look: Look): TableCell {
  if (typeof cell === 'string') return printable(cell);
  if ('level' in cell) return cell;
  return 'nodes' in cell ? namesIn(cell.nodes, NAMES, look) : printable(cell.text);
}

/** A command is on its own line, to be copied. */
function nextText({ command, note }: Step): string {
  const [first = '', ...rest] = [command, note].filter((part) => part !== undefined).map(printable);
  return [`next: ${first}\n`, ...rest.map((line) => `  ${line}\n`)].join('');
}

function stepText({ command, note }: Step): string {
  return [command, note].filter((part) => part !== undefined).join(': ');
}
