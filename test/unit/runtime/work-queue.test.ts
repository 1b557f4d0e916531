import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startWorkQueue, type WorkQueueOptions } from '../../../src/runtime/work-queue.ts';
import { captureLog } from '../captured-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What is due begins; no time passes. */
const settle = () => vi.advanceTimersByTimeAsync(0);

function start(work: WorkQueueOptions['work'], options: Partial<WorkQueueOptions> = {}) {
  const captured = captureLog();
  const queue = startWorkQueue({ name: 'things', work, concurrency: 2, log: captured.log, ...options });
  return { queue, messages: () => captured.lines().map(({ msg }) => msg) };
}

/** Work that lasts until the test ends it: the oldest under way for that key. */
function heldWork() {
  const held: { key: string; end: PromiseWithResolvers<undefined> }[] = [];
  const begun: string[] = [];
  return {
    begun,
    work(key: string) {
      const end = Promise.withResolvers<undefined>();
      held.push({ key, end });
      begun.push(key);
      return end.promise;
    },
    async end(key: string, error?: Error) {
      const [one] = held.splice(
        held.findIndex((each) => each.key === key),
        1,
      );
      if (error) one?.end.reject(error);
      else one?.end.resolve(undefined);
      await settle();
    },
  };
}

it('works on a key once, however often it is asked before it begins', async () => {
  const { work, begun, end } = heldWork();
  const { queue } = start(work, { concurrency: 1 });
  for (const key of ['a', 'b', 'b', 'c', 'b']) queue.add(key);
  await settle();
  expect(begun).toEqual(['a']);
  for (const key of ['a', 'b', 'c']) await end(key);
  expect(begun).toEqual(['a', 'b', 'c']);
});

it('does not look all the time at what is due in months, which is longer than any timer', async () => {
  let looks = 0;
  start(async () => {
    looks++;
    return 100 * 86_400_000;
  }).queue.add('a');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toBe(1);
  await vi.advanceTimersByTimeAsync(100 * 86_400_000);
  expect(looks).toBeLessThan(10);
});

it('works on as many keys at a time as it may, and on each of them once more if it is asked meanwhile', async () => {
  const { work, begun, end } = heldWork();
  const { queue } = start(work);
  for (const key of ['a', 'b', 'a', 'c', 'a']) queue.add(key);
  await settle();
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  // "a" has waited for longer, but for itself.
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(begun).toEqual(['a', 'b', 'c', 'a']);
  await end('a');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toHaveLength(4);
});

it('works on a key that the work itself asks for afterwards, not beside it', async () => {
  const steps: string[] = [];
  const { queue } = start(async () => {
    steps.push('begins');
    if (steps.length === 1) queue.add('a');
    await Promise.resolve();
    steps.push('ends');
    return undefined;
  });
  queue.add('a');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(steps).toEqual(['begins', 'ends', 'begins', 'ends']);
});

it('waits for the shortest delay that callers asked for, and works on the key once', async () => {
  const work = vi.fn(async () => undefined);
  const { queue } = start(work);
  queue.add('a', 500);
  queue.add('a', 200);
  queue.add('a', 1_000);
  await vi.advanceTimersByTimeAsync(199);
  expect(work).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(1);

  queue.add('a', 500);
  queue.add('a');
  await settle();
  expect(work).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(2);
});

it('looks again after the time that the work has named', async () => {
  const work = vi.fn(async (key: string) => (key === 'again' ? 5_000 : undefined));
  const { queue } = start(work);
  queue.add('again');
  queue.add('once');
  await vi.advanceTimersByTimeAsync(4_999);
  expect(work).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(work.mock.calls).toEqual([['again'], ['once'], ['again']]);
});

it('repeats what fails ever more seldom, each key by itself, and is quick again after a success', async () => {
  let failing = true;
  const work = vi.fn(async (key: string) => {
    if (failing && key === 'bad') throw new Error('no');
    return undefined;
  });
  const calls = (key: string) => work.mock.calls.filter(([called]) => called === key).length;
  const onResult = vi.fn();
  const { queue } = start(work, { onResult });
  queue.add('bad');
  await vi.advanceTimersByTimeAsync(60_000);
  // 0.2 s doubled up to 30 s, each shortened to its half at most.
  expect(calls('bad')).toBeGreaterThanOrEqual(8);
  expect(calls('bad')).toBeLessThanOrEqual(12);
  expect(onResult.mock.calls.every(([result]) => result === 'error')).toBe(true);

  queue.add('good');
  await settle();
  expect(calls('good')).toBe(1);

  failing = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onResult).toHaveBeenLastCalledWith('ok');
  failing = true;
  const before = calls('bad');
  queue.add('bad');
  await vi.advanceTimersByTimeAsync(200);
  expect(calls('bad')).toBe(before + 2);
});

describe('what fails for a cause that lasts', () => {
  const refused = new Error('refused');
  const isLasting = (error: unknown) => error === refused;
  /** The starts of the work for the key, in whole seconds since the test began. */
  const failing = (error: Error) => {
    const began = performance.now();
    const times: number[] = [];
    const work = async () => {
      times.push(Math.floor((performance.now() - began) / 1_000));
      throw error;
    };
    return { times, ...start(work, { isLasting }) };
  };

  it('is repeated within a second, and then ever more seldom, until it is every five minutes at most', async () => {
    const { times, queue } = failing(refused);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(times.length).toBe(2);
    await vi.advanceTimersByTimeAsync(3_600_000);
    const last = times.filter((at) => at > 1_800);
    // 150 s to 300 s each.
    expect(last.length).toBeGreaterThanOrEqual(5);
    expect(last.length).toBeLessThanOrEqual(13);
  });

  it('is repeated a second after the failure if the key is restarted, and no sooner', async () => {
    const { times, queue } = failing(refused);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(1_800_000);
    const before = times.length;
    while (times.length === before) await vi.advanceTimersByTimeAsync(100);
    for (let times = 0; times < 9; times++) {
      queue.restart('a');
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(times.length).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(200);
    expect(times.length).toBe(before + 2);
  });

  it('does not slow down what fails for another cause', async () => {
    const causes = [refused, new Error('no answer')];
    const times: number[] = [];
    const { queue } = start(
      async () => {
        times.push(performance.now());
        throw causes[Math.min(times.length - 1, 1)];
      },
      { isLasting },
    );
    queue.add('a');
    await vi.advanceTimersByTimeAsync(600_000);
    // 15 s to 30 s each.
    expect(times.length).toBeGreaterThan(20);
  });
});

it('works on what has failed after all else that is due, also if it was restarted', async () => {
  // Equal pauses, so that the keys come in order.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => random.mockRestore());
  const { work, begun, end } = heldWork();
  const { queue } = start(work, { concurrency: 1 });
  for (const key of ['bad', 'worse', 'changed', 'last']) queue.add(key);
  await settle();
  for (const key of ['bad', 'worse', 'changed']) await end(key, new Error('no'));
  // By then, the pauses of all three are over.
  await vi.advanceTimersByTimeAsync(1_000);
  queue.add('new');
  queue.restart('changed');
  begun.splice(0);
  for (const key of ['last', 'new', 'changed', 'bad', 'worse']) await end(key);
  expect(begun).toEqual(['new', 'bad', 'worse', 'changed']);
});

it('repeats what fails no more often because it is asked for while at work', async () => {
  const work = vi.fn(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    throw new Error('no');
  });
  const { queue } = start(work);
  queue.add('a');
  for (let index = 0; index < 600; index++) {
    await vi.advanceTimersByTimeAsync(100);
    queue.add('a');
    queue.add('a', 600_000);
  }
  expect(work.mock.calls.length).toBeGreaterThanOrEqual(8);
  expect(work.mock.calls.length).toBeLessThanOrEqual(12);
});

it('says once that something fails, however much does, and once that all of it works again', async () => {
  let failing = true;
  const { queue, messages } = start(async (key) => {
    if (failing) throw new Error(`${key} is broken`);
    return undefined;
  });
  for (let index = 0; index < 100; index++) queue.add(`k${index}`);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(messages()).toEqual(['things: k0: k0 is broken']);

  failing = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(messages()).toEqual(['things: k0: k0 is broken', 'things: it works again']);
});

it('counts what is due or under way, each key once, and not what waits for its time', async () => {
  const { work, end } = heldWork();
  const { queue } = start(work);
  expect(queue.depth()).toBe(0);
  for (const key of ['a', 'b', 'c', 'd', 'a']) queue.add(key);
  queue.add('later', 1_000);
  await settle();
  expect(queue.depth()).toBe(4);
  for (const key of ['a', 'b', 'c']) await end(key);
  expect(queue.depth()).toBe(2);
});

it('stops once the work in progress has ended, says nothing of its failure, and begins nothing any more', async () => {
  const { work, begun, end } = heldWork();
  const { queue, messages } = start(work);
  for (const key of ['a', 'b', 'c']) queue.add(key);
  queue.add('later', 1_000);
  await settle();
  const stopped = vi.fn();
  const stopping = queue.stop().then(stopped);
  await end('a', new Error('broken off'));
  expect(stopped).not.toHaveBeenCalled();

  await end('b');
  await stopping;
  queue.add('d', 1_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(begun).toEqual(['a', 'b']);
  expect(messages()).toEqual([]);
});

it('begins nothing any more once its signal is aborted, nor takes what fails then for a failure; who stops it waits', async () => {
  const { work, begun, end } = heldWork();
  const ending = new AbortController();
  const { queue, messages } = start(work, { signal: ending.signal });
  for (const key of ['a', 'b', 'c']) queue.add(key);
  queue.add('later', 1_000);
  await settle();
  ending.abort();
  expect(vi.getTimerCount()).toBe(0);
  await end('a', new Error('broken off'));
  const stopping = queue.stop();
  await end('b');
  await stopping;
  queue.add('d');
  await settle();
  expect(begun).toEqual(['a', 'b']);
  expect(messages()).toEqual([]);
});
