import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { isExploring } from '../../seed.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** The next steps of all processes: each waits until the test lets it go on. */
const waiting: (() => void)[] = [];
const turn = () => new Promise<void>((resolve) => waiting.push(resolve));

type Lock = typeof import('../../../src/certs/directory-lock.ts');
let withDirectoryLock: Lock['withDirectoryLock'];

beforeAll(async () => {
  vi.resetModules();
  vi.doMock('node:fs/promises', async (original) => {
    const real = await original<Record<string, (...args: unknown[]) => Promise<unknown>>>();
    const inTurn =
      (name: string) =>
      async (...args: unknown[]) => {
        await turn();
        return await real[name]?.(...args);
      };
    const names = ['mkdir', 'lstat', 'readdir', 'rename', 'rmdir'];
    return { ...real, ...Object.fromEntries(names.map((name) => [name, inTurn(name)])) };
  });
  ({ withDirectoryLock } = await import('../../../src/certs/directory-lock.ts'));
});
afterAll(() => {
  vi.doUnmock('node:fs/promises');
  vi.resetModules();
});

/** Each order takes some 60 ms of file operations. */
const ORDERS = isExploring() ? 300 : 30;

it.each(Array.from({ length: ORDERS }, (_, seed) => seed + 1))(
  'one works at a time, also when many find the lock of a process that was killed: order %i',
  async (seed) => {
    const directory = temporaryDirectory();
    leaveLock(directory);
    let working = 0;
    const seen: number[] = [];
    const all = Array.from({ length: 4 }, () =>
      withDirectoryLock(directory, async () => {
        seen.push(++working);
        await turn();
        working--;
      }),
    );
    const steps = await proceedInOrder(seed, Promise.all(all));
    // Four processes make, take, look at and remove the lock.
    expect(steps).toBeGreaterThan(20);
    expect(seen).toEqual([1, 1, 1, 1]);
    expect(readdirSync(directory)).toEqual([]);
  },
);

/** Lets one operation go on after the other, in an order that the seed decides, until the work is done. */
async function proceedInOrder(seed: number, work: Promise<unknown>): Promise<number> {
  let steps = 0;
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  let state = seed;
  while (!isDone) {
    state = (state * 48_271) % 2_147_483_647;
    const [proceed] = waiting.splice(state % Math.max(1, waiting.length), 1);
    if (proceed) steps++;
    proceed?.();
    await new Promise(setImmediate);
  }
  await done;
  return steps;
}

/** What a process that was killed a minute ago has left. */
function leaveLock(directory: string): void {
  const lock = join(directory, '.lock');
  mkdirSync(join(lock, 'killed'), { recursive: true });
  const made = new Date(Date.now() - 60_000);
  utimesSync(lock, made, made);
}
