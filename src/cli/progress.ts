/** Where progress is shown: what it needs of `process.stderr`. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** What is over sooner says nothing: a line that flashes up tells nobody anything. */
const QUIET_MS = 1000;
const FRAME_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR_LINE = '\r\x1b[K';

/**
 * Waits for the work. What takes longer than a second says so meanwhile: one line on stderr with a spinner, what is being
 * done and for how many seconds, gone when it is over. Nothing is shown where stderr is no terminal, or a dumb one.
 * @param what such as `reading DaemonSets and nodes`; a function where that changes on the way
 * @returns what the work gives, and throws what it throws
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

/** A line that wraps could not be cleared. Some terminals do not know how wide they are, and say 0. */
function withinLine(line: string, columns = 0): string {
  const width = columns || 80;
  return line.length < width ? line : `${line.slice(0, Math.max(width - 2, 0))}…`;
}
