import { printable } from '../../text/printable.ts';

/** The part of `process.stderr` that progress needs. */
interface ProgressStream {
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

/** Prints to stderr what is not part of the result. */
export function tell(...lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`taintkeeper: ${printable(line)}\n`);
}
