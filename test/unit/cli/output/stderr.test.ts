import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { withProgress } from '../../../../src/cli/output/stderr.ts';

const CLEAR = '\r\x1b[K';

class Terminal {
  readonly isTTY: boolean;
  readonly columns: number;
  readonly written: string[] = [];

  constructor(isTTY = true, columns = 80) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.written.push(text);
  }
}

/** Work that takes so long, by the clock of the test. */
const after = <T>(ms: number, outcome: () => T): Promise<T> =>
  new Promise((resolve, reject) =>
    setTimeout(() => {
      try {
        resolve(outcome());
      } catch (error) {
        reject(error);
      }
    }, ms),
  );

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'xterm');
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
});

it('what takes long says what it does, for how long, and leaves no line behind', async () => {
  const terminal = new Terminal();
  const work = withProgress(
    'asking every replica',
    after(3050, () => 'answer'),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(2000);
  expect(terminal.written.at(-1)?.startsWith(CLEAR)).toBe(true);
  expect(terminal.written.at(-1)).toMatch(/\S asking every replica \(2 s\)$/);
  await vi.advanceTimersByTimeAsync(1050);

  expect(await work).toBe('answer');
  expect(terminal.written.at(-1)).toBe(CLEAR);
  const frames = terminal.written.slice(0, -1).map((line) => line.slice(CLEAR.length, CLEAR.length + 1));
  expect(new Set(frames).size).toBeGreaterThan(5);
  const before = terminal.written.length;
  await vi.advanceTimersByTimeAsync(5000);
  expect(terminal.written.length).toBe(before);
});

it('what is done is asked for anew each time', async () => {
  const terminal = new Terminal();
  let step = 'first';
  const work = withProgress(
    () => step,
    after(2000, () => 0),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(1100);
  expect(terminal.written.at(-1)).toContain('first');
  step = 'second';
  await vi.advanceTimersByTimeAsync(200);
  expect(terminal.written.at(-1)).toContain('second');
  await vi.advanceTimersByTimeAsync(1000);
  await work;
});

it('what is soon over says nothing', async () => {
  const terminal = new Terminal();
  const work = withProgress(
    'asking',
    after(900, () => 'answer'),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(900);
  expect(await work).toBe('answer');
  expect(terminal.written).toEqual([]);
});

it.each([
  { where: 'a pipe', isTTY: false, term: 'xterm' },
  { where: 'a dumb terminal', isTTY: true, term: 'dumb' },
])('$where sees nothing of it', async ({ isTTY, term }) => {
  vi.stubEnv('TERM', term);
  const terminal = new Terminal(isTTY);
  const work = withProgress(
    'asking',
    after(5000, () => 'answer'),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(5000);
  expect(await work).toBe('answer');
  expect(terminal.written).toEqual([]);
});

it('work that fails fails as it would alone, once the line is cleared', async () => {
  const terminal = new Terminal();
  const fails = after(2000, () => {
    throw new RangeError('no such cluster');
  });
  const work = expect(withProgress('asking', fails, terminal)).rejects.toThrow(new RangeError('no such cluster'));
  await vi.advanceTimersByTimeAsync(2000);
  await work;
  expect(terminal.written.length).toBeGreaterThan(1);
  expect(terminal.written.at(-1)).toBe(CLEAR);
});

it('a line never wraps: it could not be cleared then', async () => {
  const terminal = new Terminal(true, 20);
  const work = withProgress(
    'comparing five thousand nodes',
    after(1500, () => 0),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(1500);
  await work;
  const lengths = terminal.written.slice(0, -1).map((line) => line.length - CLEAR.length);
  expect(Math.max(...lengths)).toBe(19);
});

it('a terminal that does not know its width is taken for one of 80 columns', async () => {
  const terminal = new Terminal(true, 0);
  const work = withProgress(
    'asking',
    after(1500, () => 0),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(1500);
  await work;
  expect(terminal.written.at(-2)).toContain('asking (1 s)');
});
