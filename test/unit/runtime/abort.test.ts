import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { orAborted } from '../../../src/runtime/abort.ts';

it('a promise that fails after the signal was aborted ends no process', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const { promise, reject } = Promise.withResolvers<never>();

  await expect(orAborted(promise, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  reject(new Error('the token cannot be read'));
  // Node.js reports what nobody handles once the microtasks are done.
  await setImmediate();

  expect(unhandled).toEqual([]);
});
