import { expect, it } from 'vitest';
import { slots } from '../../../src/runtime/rate-limit.ts';

it('as many go on at a time as there are slots, the others in the order in which they came, whatever fails', async () => {
  const inSlot = slots(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = [0, 1, 2, 3].map((number) =>
    inSlot(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (number === 0) throw new Error('no');
      return number;
    }).catch(() => -1),
  );
  await new Promise(setImmediate);
  expect(begun).toEqual([0, 1]);
  ends[0]?.();
  expect(await work[0]).toBe(-1);
  await new Promise(setImmediate);
  expect(begun).toEqual([0, 1, 2]);
  for (let index = 1; index < 4; index++) {
    ends[index]?.();
    await work[index];
    await new Promise(setImmediate);
  }
  expect(begun).toEqual([0, 1, 2, 3]);
});
