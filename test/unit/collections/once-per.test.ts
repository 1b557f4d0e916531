import { expect, it, vi } from 'vitest';
import { oncePer } from '../../../src/collections/once-per.ts';

it.each([{ result: 'made' }, { result: undefined }])('is called once for each key: result $result', ({ result }) => {
  const make = vi.fn((_: object) => result);
  const once = oncePer(make);
  const [one, other] = [{}, {}];
  expect([once(one), once(one), once(other), once(other)]).toEqual([result, result, result, result]);
  expect(make.mock.calls).toEqual([[one], [other]]);
});
