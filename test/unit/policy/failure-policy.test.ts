import { expect, it } from 'vitest';
import type { TaintMode } from '../../../src/policy/taint-policy.ts';
import { type FailurePolicy, failurePolicyOf } from '../../../src/policy/taint-policy.ts';

it.each<[mode: TaintMode, field: FailurePolicy | undefined, effective: FailurePolicy]>([
  ['Deny', undefined, 'Fail'],
  ['Deny', 'Ignore', 'Ignore'],
  ['Restore', undefined, 'Ignore'],
  ['Restore', 'Fail', 'Fail'],
  ['Audit', undefined, 'Ignore'],
])('mode %s with failurePolicy %s means %s', (mode, field, effective) => {
  const spec = {
    mode,
    taints: [{ key: 'dedicated' }],
    ...(field ? { failurePolicy: field } : {}),
  };
  expect(failurePolicyOf(spec, mode)).toBe(effective);
});

it('a Deny policy refuses no request with --audit', () => {
  expect(failurePolicyOf({ mode: 'Deny', taints: [{ key: 'dedicated' }], failurePolicy: 'Fail' }, 'Audit')).toBe(
    'Ignore',
  );
});
