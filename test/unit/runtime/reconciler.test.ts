import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type ReconcilerOptions, startReconciler } from '../../../src/runtime/reconciler.ts';
import { captureLog } from '../captured-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function start(reconcile: ReconcilerOptions['reconcile'], options: Partial<ReconcilerOptions> = {}) {
  const captured = captureLog();
  const reconciler = startReconciler({ name: 'thing', reconcile, log: captured.log, ...options });
  return { reconciler, messages: () => captured.lines().map(({ msg }) => msg) };
}

it('runs at the beginning, and then when asked', async () => {
  const reconcile = vi.fn(async () => undefined);
  const { reconciler } = start(reconcile);
  await vi.advanceTimersByTimeAsync(0);
  expect(reconcile).toHaveBeenCalledTimes(1);

  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(reconcile).toHaveBeenCalledTimes(1);
  reconciler.trigger();
  await vi.advanceTimersByTimeAsync(0);
  expect(reconcile).toHaveBeenCalledTimes(2);
});

it('runs again after the time that a run has named', async () => {
  const reconcile = vi.fn(async () => 5_000);
  start(reconcile);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(reconcile).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(reconcile).toHaveBeenCalledTimes(2);
});

it('waits for the delay that a caller requests, or for the shortest one if several callers do', async () => {
  const reconcile = vi.fn(async () => undefined);
  const { reconciler } = start(reconcile);
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 3; i++) reconciler.trigger(200);
  await vi.advanceTimersByTimeAsync(199);
  expect(reconcile).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reconcile).toHaveBeenCalledTimes(2);

  reconciler.trigger(200);
  reconciler.trigger();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reconcile).toHaveBeenCalledTimes(3);
});

it('never runs twice at a time; whatever asks meanwhile leads to one further run', async () => {
  const runs: PromiseWithResolvers<undefined>[] = [];
  const { reconciler } = start(() => {
    const run = Promise.withResolvers<undefined>();
    runs.push(run);
    return run.promise;
  });
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 5; i++) reconciler.trigger();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);

  runs[0]?.resolve(undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(2);
});

it('keeps the pause between runs, however often it is asked', async () => {
  const reconcile = vi.fn(async () => undefined);
  const { reconciler } = start(reconcile, { pauseMs: 1_000 });
  for (let ms = 0; ms < 10_000; ms += 100) {
    reconciler.trigger();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(reconcile.mock.calls.length).toBeGreaterThanOrEqual(9);
  expect(reconcile.mock.calls.length).toBeLessThanOrEqual(11);
});

it('repeats a failing run at growing intervals, even if a caller triggers more, and logs one failure once', async () => {
  const onResult = vi.fn();
  const reconcile = vi.fn(async () => {
    throw new Error(`the API server is away: attempt ${reconcile.mock.calls.length}`);
  });
  const { reconciler, messages } = start(reconcile, { onResult });
  for (let ms = 0; ms < 60_000; ms += 50) {
    reconciler.trigger();
    await vi.advanceTimersByTimeAsync(50);
  }
  // 0.2 s doubled up to 30 s, each shortened to its half at most.
  expect(reconcile.mock.calls.length).toBeGreaterThanOrEqual(8);
  expect(reconcile.mock.calls.length).toBeLessThanOrEqual(12);
  expect(messages()).toEqual(['thing: the API server is away: attempt 1']);
  expect(onResult.mock.calls.every(([result]) => result === 'error')).toBe(true);

  reconcile.mockImplementation(async () => undefined as never);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(messages()).toEqual(['thing: the API server is away: attempt 1', 'thing: it works again']);
  expect(onResult).toHaveBeenLastCalledWith('ok');
});

it('does not keep a new cause waiting for the pause after failures of the old one', async () => {
  const reconcile = vi.fn(async () => {
    throw new Error('the policy is refused');
  });
  const { reconciler } = start(reconcile);
  await vi.advanceTimersByTimeAsync(60_000);
  // Pauses have a random part: from the next failure on, the long pause is known to have just begun, and the shortest one to be over.
  const failures = reconcile.mock.calls.length;
  while (reconcile.mock.calls.length === failures) await vi.advanceTimersByTimeAsync(100);
  await vi.advanceTimersByTimeAsync(200);
  const before = reconcile.mock.calls.length;
  reconciler.restart();
  await vi.advanceTimersByTimeAsync(0);
  expect(reconcile.mock.calls.length).toBe(before + 1);
  // The pauses are short again, too.
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reconcile.mock.calls.length).toBeGreaterThanOrEqual(before + 3);
});

it('keeps the shortest pause after a failure, however often the cause changes', async () => {
  const reconcile = vi.fn(async () => {
    throw new Error('the policy is refused');
  });
  const { reconciler } = start(reconcile);
  for (let ms = 0; ms < 10_000; ms += 20) {
    reconciler.restart();
    await vi.advanceTimersByTimeAsync(20);
  }
  // 0.2 s, shortened to its half at most.
  expect(reconcile.mock.calls.length).toBeGreaterThanOrEqual(45);
  expect(reconcile.mock.calls.length).toBeLessThanOrEqual(101);
});

it('waits as long as the API server has asked for, also where the cause is new', async () => {
  const reconcile = vi.fn(async () => {
    throw Object.assign(new Error('busy'), { retryAfterMs: 20_000 });
  });
  const { reconciler } = start(reconcile);
  await vi.advanceTimersByTimeAsync(0);
  reconciler.restart();
  await vi.advanceTimersByTimeAsync(19_999);
  expect(reconcile).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(reconcile).toHaveBeenCalledTimes(2);
});

it('stops after the run in progress, and says nothing of its failure', async () => {
  const run = Promise.withResolvers<undefined>();
  const reconcile = vi.fn(() => run.promise);
  const { reconciler, messages } = start(reconcile);
  await vi.advanceTimersByTimeAsync(0);
  reconciler.trigger();
  const stopped = vi.fn();
  const stopping = reconciler.stop().then(stopped);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stopped).not.toHaveBeenCalled();

  run.reject(new Error('broken off'));
  await stopping;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reconcile).toHaveBeenCalledTimes(1);
  expect(messages()).toEqual([]);
});
