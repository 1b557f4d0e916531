import fc from 'fast-check';
import type { DaemonSetSelection } from '../../../src/policy/daemon-set-selection.ts';
import type { PolicySelector } from '../../../src/policy/selector.ts';

// Selectors of every form, and labels that they just fit and just do not.

export const labels = fc.constantFrom<Record<string, string>>(
  {},
  { pool: 'a' },
  { pool: 'b', zone: 'z' },
  { pool: '', zone: 'z' },
  { 'example.com/zone': 'z', pool: 'c' },
);

export const labelSelector = fc.constantFrom<PolicySelector | undefined>(
  undefined,
  undefined,
  undefined,
  {},
  { matchLabels: { pool: 'a' } },
  { matchLabels: { pool: '', zone: 'z' } },
  { matchExpressions: [{ key: 'pool', operator: 'In', values: ['a', 'c'] }] },
  { matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['b', ''] }] },
  { matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
  { matchLabels: { pool: 'c' }, matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] },
);

/** For DaemonSets called `cni`, `c…i`, `…-agent` and otherwise, in kube-system, another namespace of that beginning, and `default`. */
export const daemonSetSelection: fc.Arbitrary<DaemonSetSelection> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<DaemonSetSelection>({ namespaces: ['kube-system'] }) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        places: fc.constantFrom<DaemonSetSelection>(
          { namespaces: ['*'], names: ['cni*', '*-agent'] },
          { namespaces: ['kube-*'], names: ['c*i', 'x*y*z'] },
          { namespaces: ['default'] },
        ),
        selector: labelSelector,
      })
      .map(({ places, selector }) => (selector === undefined ? places : { ...places, selector })),
  },
);
