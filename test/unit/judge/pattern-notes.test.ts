import { expect, it } from 'vitest';
import { notesNotEstablished, patternNotes, patternNotesWithoutLeader } from '../../../src/judge/pattern-notes.ts';
import type { TaintPolicy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { withRecorded } from './established.ts';
import { nodeOf } from './node-drifts.ts';
import { gpu } from './node-updates.ts';

const policyOf = (spec: Partial<TaintPolicySpec>): TaintPolicy => ({
  kind: 'TaintPolicy',
  name: 'p',
  spec: { mode: 'Deny', taints: [{ key: '*', restrict: ['Removal'] }], ...spec },
});

it.each<[what: string, spec: Partial<TaintPolicySpec>, ...notes: RegExp[]]>([
  [
    'every taint',
    {},
    /^spec\.taints\[0\]\.key: "\*" matches every taint that has stayed on a Ready node for 600 s: list/,
  ],
  [
    'exceptions are not all',
    { taints: [{ key: '**', except: ['a'], restrict: ['Removal'] }] },
    /^spec\.taints\[0\]\.key: "\*\*" matches/,
  ],
  ['Audit', { mode: 'Audit' }, /which Deny and Restore do not protect yet$/],
  [
    'one family',
    {
      taints: [
        { key: 'a', restrict: ['Removal'] },
        { key: 'example.com/*', restrict: ['Removal'] },
      ],
    },
  ],
])('says what a key for every taint does: %s', (_what, spec, ...notes) => {
  expect(patternNotes(policyOf(spec))).toEqual(notes.map((note) => expect.stringMatching(note)));
});

it.each<[spec: Partial<TaintPolicySpec>, count: number]>([
  [
    {
      taints: [
        { key: 'a', restrict: ['Removal'] },
        { key: 'example.com/*', restrict: ['Removal'] },
      ],
    },
    1,
  ],
  [{}, 1],
  [{ mode: 'Audit', taints: [{ key: 'example.com/*', restrict: ['Removal'] }] }, 0],
])('of %j says, where nobody leads, %i things', (spec, count) => {
  expect(patternNotesWithoutLeader(policyOf(spec))).toHaveLength(count);
});

it('says of an update which taints go only because they are not established', () => {
  const other = { key: 'other', effect: 'NoSchedule' };
  const { taintPolicies } = policySet({
    taint: {
      all: { mode: 'Deny', taints: [{ key: '*', except: ['other'], restrict: ['Removal'] }] },
      exact: { mode: 'Deny', taints: [{ key: 'b', restrict: ['Removal'] }] },
    },
  });
  const b = { key: 'b', effect: 'NoSchedule' };
  const notes = (recorded?: string) =>
    notesNotEstablished(withRecorded(nodeOf([gpu, other, b]), recorded), nodeOf([]), taintPolicies);
  const note = (text: string) =>
    `taint ${text} may be removed: TaintPolicy all (spec.taints[0]) protects it only once the NodeTaintRecord of the node lists it`;
  expect(notes('b:NoSchedule')).toEqual([note('dedicated=gpu:NoSchedule')]);
  expect(notes('b:NoSchedule, dedicated=gpu:NoSchedule')).toEqual([]);
});
