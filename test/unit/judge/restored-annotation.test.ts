import { expect, it } from 'vitest';
import { parseRestored } from '../../../src/judge/restored-natively.ts';

const GPU = { policy: 'gpu-pool', taint: { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } };
const PLAIN = { policy: 'all', taint: { key: 'example.com/a', value: '', effect: 'NoExecute' } };

it.each([
  ['gpu-pool dedicated=gpu:NoSchedule, all example.com/a:NoExecute', [GPU, PLAIN]],
  [undefined, []],
  ['', []],
  ['rubbish, dedicated:NoSchedule, p a:Odd, p a:NoSchedule more', []],
  [' gpu-pool  dedicated=gpu:NoSchedule', []],
  ['gpu-pool dedicated=gpu:NoSchedule,all example.com/a:NoExecut', [GPU]],
])('reads what can be read of %j', (text, expected) => {
  expect(parseRestored(text)).toEqual(expected);
});
