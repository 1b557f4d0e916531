import { expect, it } from 'vitest';
import { notesNotEstablished, patternNotes, patternNotesWithoutLeader } from '../../../src/judge/pattern-notes.ts';
import type { Policy, TaintPolicy } from '../../../src/policy/policy.ts';
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

const NO_RECORDS =
  'protects no taint here, because only taintkeeper in a cluster records which taints are established: name each key';

it.each<[what: string, spec: Partial<TaintPolicySpec>, ...notes: string[]]>([
  [
    'every taint',
    {},
    'spec.taints[0].key: "*" matches every taint that has stayed on a Ready node for 600 s: list in except the taints that are removed later than that',
  ],
  [
    'exceptions are not all',
    {
      taints: [
        { key: 'a', restrict: ['Removal'] },
        { key: '**', except: ['a'], restrict: ['Removal'] },
      ],
    },
    'spec.taints[1].key: "**" matches every taint that has stayed on a Ready node for 600 s: list in except the taints that are removed later than that',
  ],
  [
    'Audit',
    { mode: 'Audit' },
    'spec.taints[0].key: "*" matches every taint: also reports taints that have been on the node for less than 600 s, which Deny and Restore do not protect yet',
  ],
  [
    'one family',
    {
      taints: [
        { key: 'a', restrict: ['Removal'] },
        { key: 'example.com/*', restrict: ['Removal'] },
        { key: '*.example.com/gpu', restrict: ['Removal'] },
      ],
    },
  ],
  ['additions, which do not wait', { taints: [{ key: '*', restrict: ['Addition'] }] }],
])('says what a key for every taint does: %s', (_what, spec, ...notes) => {
  expect(patternNotes(policyOf(spec))).toEqual(notes);
});

it.each<[spec: Partial<TaintPolicySpec>, notes: string[]]>([
  [
    {
      taints: [
        { key: 'a', restrict: ['Removal'] },
        { key: 'example.com/*', restrict: ['Removal'] },
      ],
    },
    [`spec.taints[1].key: "example.com/*" ${NO_RECORDS}`],
  ],
  [{}, [`spec.taints[0].key: "*" ${NO_RECORDS}`]],
  [{ taints: [{ key: '*', restrict: ['Addition'] }] }, []],
  [{ mode: 'Audit', taints: [{ key: 'example.com/*', restrict: ['Removal'] }] }, []],
])('says which patterns protect nothing while no leader runs: %j', (spec, notes) => {
  expect(patternNotesWithoutLeader(policyOf(spec))).toEqual(notes);
});

it('says nothing about policies of other kinds', () => {
  const policy: Policy = {
    kind: 'TolerationPolicy',
    name: 'p',
    spec: { mode: 'Mutate', daemonSets: { namespaces: ['*'] } },
  };
  expect([...patternNotes(policy), ...patternNotesWithoutLeader(policy)]).toEqual([]);
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
