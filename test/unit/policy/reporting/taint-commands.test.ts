import { expect, it } from 'vitest';
import { taintCommand } from '../../../../src/policy/reporting/taint-commands.ts';

it('a command sets taints on nodes, each a word of a shell', () => {
  expect(taintCommand(['n1', 'n2'], ['a=b:NoSchedule', 'c:NoExecute'], false)).toBe(
    'kubectl taint node n1 n2 a=b:NoSchedule c:NoExecute',
  );
  expect(taintCommand(['n1'], ["a='b:NoSchedule"], true)).toMatch(/^kubectl taint --overwrite node n1 '/);
});
