import { expect, it } from 'vitest';
import { reference } from '../../../src/cel/expression.ts';
import { entry } from '../../../src/webhooks/webhook-entry.ts';

it('a condition with a variable that nothing defines is a fault: the API server would refuse the configuration', () => {
  const expression = reference('removed');
  const webhook = () =>
    entry(
      { expression },
      {
        name: 'protect.taintkeeper.dev',
        phase: 'validate',
        resource: 'nodes',
        operations: ['UPDATE'],
        failurePolicy: 'Fail',
        conditions: { 'is-against-a-policy': expression },
      },
    );
  expect(webhook).toThrow('variable not defined before it is used: removed');
});
