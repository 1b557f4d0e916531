import { expect, it } from 'vitest';
import { parseRestored } from '../../../src/judge/node-view.ts';

const GPU = { policy: 'gpu-pool', taint: { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }, isAddition: false };
const PLAIN = { policy: 'all', taint: { key: 'example.com/a', value: '', effect: 'NoExecute' }, isAddition: false };

it.each([
  ['gpu-pool dedicated=gpu:NoSchedule, all example.com/a:NoExecute', [GPU, PLAIN]],
  ['gpu-pool -dedicated=gpu:NoSchedule, all - example.com/a:NoExecute', [{ ...GPU, isAddition: true }]],
  [undefined, []],
  ['', []],
  ['rubbish, dedicated:NoSchedule, p a:Odd, p a:NoSchedule more', []],
  [' gpu-pool  dedicated=gpu:NoSchedule', []],
  ['gpu-pool dedicated=gpu:NoSchedule,all example.com/a:NoExecut', [GPU]],
])('reads what can be read of %j', (text, expected) => {
  expect(parseRestored(text)).toEqual(expected);
});
