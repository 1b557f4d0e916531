import { styleText } from 'node:util';
import type { StateCell } from '../../explain/display.ts';
import { atMost } from '../../text/counts.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from './look.ts';

/** A cell of a table. A state has a colour. */
export type TableCell = string | StateCell;

/** The text of a cell. */
export function textOf(cell: TableCell | undefined = ''): string {
  return typeof cell === 'string' ? cell : cell.text;
}

/** The names in one cell: as many as fit, or all of them. */
export function namesIn(names: readonly string[], count: number, { wide }: Look): string {
  return printable((wide ? names : atMost(count, names)).join(', '));
}

const PLAIN: Look = { wide: false, colors: false, width: undefined };
const STYLES = { failed: 'red', attention: 'yellow', ok: 'green', quiet: 'dim' } as const;

const GAP = 2;
/** The minimum width of a wrapped column. */
const MIN_WRAPPED = 16;

/**
 * The beginning of a shell command in a text. Conditions and Events are text with commands in it, so no field says where they are.
 */
const COMMAND =
  /(?<!\S)[^\s\w]*(?:kubectl|talosctl|helm|kubeadm|chronyc|echo|taintkeeper (?:certs|cleanup|coverage|dashboard|doctor|explain|export|review|serve|talos)) /;

/**
 * Formats a table. Each column is as wide as its widest cell, and the first row has the headings. If lines would be too long, the last column
 * is wrapped before the first command in it.
 */
export function columns(rows: readonly (readonly TableCell[])[], look: Look = PLAIN): string {
  return tableRows(rows, look).join('');
}

/** The rows of {@link columns}, each with its lines, for tables with text below a row. */
export function tableRows(rows: readonly (readonly TableCell[])[], look: Look = PLAIN): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => textOf(row[column]).length)));
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP, 0);
  const room = (look.width ?? Number.POSITIVE_INFINITY) - before;
  return rows.map((row, index) => {
    const [end = '', ...further] = room < MIN_WRAPPED ? [textOf(row[last])] : linesOf(textOf(row[last]), room);
    const cells = row.map((cell, column) => {
      const text = column === last ? end : textOf(cell);
      const style = index === 0 ? 'bold' : typeof cell === 'string' ? undefined : STYLES[cell.level];
      const shown = look.colors && style ? styleText(style, text, { validateStream: false }) : text;
      return `${shown}${' '.repeat((widths[column] ?? 0) - text.length)}`;
    });
    const lines = [cells.join(' '.repeat(GAP)), ...further.map((line) => `${' '.repeat(before)}${line}`)];
    return lines.map((line) => `${line.trimEnd()}\n`).join('');
  });
}

/**
 * Wraps the text at so many characters. Longer words are not split, nor is a command with what follows it: if a user pastes two lines, the shell runs
 * each by itself, and the first half of a deletion may delete more.
 */
function linesOf(text: string, length: number): string[] {
  if (text.length <= length) return [text];
  const begin = COMMAND.exec(text)?.index ?? text.length;
  const words = begin === 0 ? [] : text.slice(0, begin).trimEnd().split(' ');
  const command = text.slice(begin);
  const lines: string[] = [];
  for (const word of command === '' ? words : [...words, command]) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > length) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
