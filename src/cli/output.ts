import { styleText } from 'node:util';
import type { StateCell } from '../explain/sections.ts';
import { jsonText, yamlText } from '../files/printed-data.ts';
import { atMost, printable } from '../kubernetes/text.ts';
import type { OutputFormat } from './options.ts';

/** The part of `process.stderr` that progress needs. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shorter work shows no progress, because a line that flashes up is not readable. */
const QUIET_MS = 1000;
const FRAME_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR_LINE = '\r\x1b[K';

/**
 * Waits for the work. After a second, shows a line on stderr with a spinner, the work and its seconds, and removes it at the end. Shows nothing
 * if stderr is not a terminal, or a dumb one.
 * @param what such as `reading DaemonSets and nodes`; a function if it changes
 * @returns the result of the work, and throws its error
 */
export async function withProgress<T>(
  what: string | (() => string),
  work: Promise<T>,
  stream: ProgressStream = process.stderr,
): Promise<T> {
  if (!stream.isTTY || process.env.TERM === 'dumb') return work;
  const begin = performance.now();
  let shown = false;
  const show = () => {
    const elapsedMs = performance.now() - begin;
    if (elapsedMs < QUIET_MS) return;
    const text = typeof what === 'string' ? what : what();
    const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length];
    stream.write(`${CLEAR_LINE}${withinLine(`${frame} ${text} (${Math.floor(elapsedMs / 1000)} s)`, stream.columns)}`);
    shown = true;
  };
  const timer = setInterval(show, FRAME_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (shown) stream.write(CLEAR_LINE);
  }
}

/** A line that wraps could not be cleared. Some terminals report a width of 0. */
function withinLine(line: string, columns = 0): string {
  const width = columns || 80;
  return line.length < width ? line : `${line.slice(0, Math.max(width - 2, 0))}…`;
}

/** How a table is shown. */
export interface Look {
  /** All names, and lines of any length. */
  readonly wide: boolean;
  readonly colors: boolean;
  /** The characters of a line. Undefined if it is not a terminal. */
  readonly width: number | undefined;
}

const PLAIN: Look = { wide: false, colors: false, width: undefined };

/** How tables are shown on the stream. */
export function lookOf(stream: { readonly isTTY?: boolean; readonly columns?: number }, wide: boolean): Look {
  // Some terminals report a width of 0.
  const width = stream.isTTY && !wide ? stream.columns || undefined : undefined;
  return { wide, colors: usesColors(stream), width };
}

/** The names in one cell: as many as fit, or all of them. */
export function namesIn(names: readonly string[], count: number, { wide }: Look): string {
  return printable((wide ? names : atMost(count, names)).join(', '));
}

const GAP = 2;
/** The minimum width of a wrapped column. */
const MIN_WRAPPED = 16;

/**
 * Formats a table. Each column is as wide as its widest cell, and the first row has the headings. If lines would be too long, the last column
 * is wrapped.
 */
export function columns(rows: readonly (readonly TableCell[])[], look: Look = PLAIN): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => textOf(row[column]).length)));
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP, 0);
  const room = (look.width ?? Number.POSITIVE_INFINITY) - before;
  return rows
    .map((row, index) => {
      const [end = '', ...further] = room < MIN_WRAPPED ? [textOf(row[last])] : linesOf(textOf(row[last]), room);
      const cells = row.map((cell, column) => {
        const text = column === last ? end : textOf(cell);
        const style = index === 0 ? 'bold' : typeof cell === 'string' ? undefined : STYLES[cell.level];
        const shown = look.colors && style ? styleText(style, text, { validateStream: false }) : text;
        return `${shown}${' '.repeat((widths[column] ?? 0) - text.length)}`;
      });
      const lines = [cells.join(' '.repeat(GAP)), ...further.map((line) => `${' '.repeat(before)}${line}`)];
      return lines.map((line) => `${line.trimEnd()}\n`).join('');
    })
    .join('');
}

/** Wraps the text at so many characters. Longer words are not split. */
function linesOf(text: string, length: number): string[] {
  if (text.length <= length) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > length) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

/** A cell of a table. A state has a colour. */
export type TableCell = string | StateCell;

/** The text of a cell. */
export function textOf(cell: TableCell | undefined = ''): string {
  return typeof cell === 'string' ? cell : cell.text;
}

const STYLES = { failed: 'red', attention: 'yellow', ok: 'green', quiet: 'dim' } as const;

/**
 * Whether to colour the output: on a terminal with colours, unless NO_COLOR, or FORCE_COLOR=0 or false, is set. FORCE_COLOR is for terminals that call
 * themselves dumb. Files and pipes never get colours, because programs read them as text.
 * https://no-color.org: set, and not empty
 */
export function usesColors(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (!stream.isTTY || NO_COLOR || FORCE_COLOR === '0' || FORCE_COLOR === 'false') return false;
  return Boolean(FORCE_COLOR) || TERM !== 'dumb';
}

/** The output of a command in the format of `-o`: {@link asJson} or {@link asYaml} of the data, or the table. */
export function formatAs(
  format: OutputFormat,
  { data, table }: { readonly data: () => object; readonly table: (look: Look) => string },
): string {
  switch (format) {
    case 'table':
    case 'wide':
      return table(lookOf(process.stdout, format === 'wide'));
    case 'json':
      return asJson(data());
    case 'yaml':
      return asYaml(data());
  }
}

export function asJson(data: object): string {
  return `${jsonText(data)}\n`;
}

export function asYaml(data: object): string {
  return yamlText(data);
}

/** Comments of YAML. */
export function asComments(lines: readonly string[]): string {
  return lines.map((line) => `${`# ${printable(line)}`.trimEnd()}\n`).join('');
}

/** Prints to stderr what is not part of the result. */
export function tell(...lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`taintkeeper: ${printable(line)}\n`);
}
