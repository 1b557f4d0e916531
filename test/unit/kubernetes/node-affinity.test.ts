import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selects } from '../../../src/kubernetes/label-selector.ts';
import {
  compileNodeAffinity,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
} from '../../../src/kubernetes/node-affinity.ts';

const requirement = (key: string, operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key,
  operator,
  values,
});
const byLabels = (...matchExpressions: NodeSelectorRequirement[]): NodeSelectorTerm => ({
  matchExpressions,
  matchFields: [],
});
const byFields = (...matchFields: NodeSelectorRequirement[]): NodeSelectorTerm => ({
  matchExpressions: [],
  matchFields,
});
const EMPTY: NodeSelectorTerm = byLabels();

const node = { name: 'w1', labels: { zone: 'a', cores: '16', bare: '', nothing: null } };
const mismatches = (...terms: NodeSelectorTerm[]) => compileNodeAffinity(terms)(node);
const matches = (...terms: NodeSelectorTerm[]) => mismatches(...terms) === undefined;

describe('requirements on labels', () => {
  it.each<[string, string, string[], boolean]>([
    ['zone', 'In', ['a'], true],
    ['zone', 'In', ['b', 'a'], true],
    ['zone', 'In', ['b'], false],
    ['absent', 'In', ['a'], false],
    ['bare', 'In', [''], true],
    ['nothing', 'In', [''], true],
    ['absent', 'In', [''], false],
    ['zone', 'NotIn', ['b'], true],
    ['zone', 'NotIn', ['a', 'b'], false],
    ['absent', 'NotIn', ['a'], true],
    ['zone', 'Exists', [], true],
    ['bare', 'Exists', [], true],
    ['absent', 'Exists', [], false],
    ['constructor', 'Exists', [], false],
    ['zone', 'DoesNotExist', [], false],
    ['bare', 'DoesNotExist', [], false],
    ['absent', 'DoesNotExist', [], true],
    ['cores', 'Gt', ['15'], true],
    ['cores', 'Gt', ['16'], false],
    ['cores', 'Gt', ['9'], true],
    ['cores', 'Gt', ['0015'], true],
    // Go would read them as numbers, but they are no values of labels.
    ['cores', 'Gt', ['+15'], false],
    ['cores', 'Gt', ['-15'], false],
    ['cores', 'Lt', ['17'], true],
    ['cores', 'Lt', ['16'], false],
    ['cores', 'Lt', ['9223372036854775807'], true],
    ['zone', 'Gt', ['1'], false],
    ['zone', 'Lt', ['1'], false],
    ['bare', 'Lt', ['1'], false],
    ['absent', 'Gt', ['1'], false],
    ['absent', 'Lt', ['1'], false],
  ])('%s %s %j: %s', (key, operator, values, yes) => {
    expect(matches(byLabels(requirement(key, operator, ...values)))).toBe(yes);
  });

  it('names the requirement and the value of the node', () => {
    expect(mismatches(byLabels(requirement('zone', 'In', 'b'), requirement('absent', 'Exists')))).toEqual([
      {
        index: 0,
        unmet: [
          { key: 'zone', operator: 'In', values: ['b'], found: 'a', malformed: false },
          { key: 'absent', operator: 'Exists', values: [], found: undefined, malformed: false },
        ],
      },
    ]);
  });

  it.each(['a5', '5a', '1.5', ''])('does not read the label %j as a number', (n) => {
    expect(compileNodeAffinity([byLabels(requirement('n', 'Gt', '1'))])({ name: '', labels: { n } })).toBeDefined();
  });

  it('compares numbers beyond 2^53 exactly, and none beyond 64 bits', () => {
    const gt = compileNodeAffinity([byLabels(requirement('n', 'Gt', '9007199254740992'))]);
    const among = (n: string) => gt({ name: '', labels: { n } }) === undefined;
    expect([among('9007199254740993'), among('9007199254740992'), among('9223372036854775808')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('malformed requirements', () => {
  it.each<{ why: string; term: NodeSelectorTerm }>([
    { why: 'In without values', term: byLabels(requirement('zone', 'In')) },
    { why: 'NotIn without values', term: byLabels(requirement('zone', 'NotIn')) },
    { why: 'Exists with values', term: byLabels(requirement('zone', 'Exists', 'a')) },
    { why: 'DoesNotExist with values', term: byLabels(requirement('absent', 'DoesNotExist', 'a')) },
    { why: 'Gt with two values', term: byLabels(requirement('cores', 'Gt', '1', '2')) },
    { why: 'Gt with a word', term: byLabels(requirement('cores', 'Gt', 'one')) },
    { why: 'Lt with a fraction', term: byLabels(requirement('cores', 'Lt', '16.5')) },
    { why: 'Gt with a sign, which no value of a label begins with', term: byLabels(requirement('cores', 'Gt', '-1')) },
    { why: 'Lt beyond 64 bits', term: byLabels(requirement('cores', 'Lt', '9223372036854775808')) },
    { why: 'an operator that is not written exactly', term: byLabels(requirement('zone', 'exists')) },
    { why: 'a key that no label has', term: byLabels(requirement('a b', 'DoesNotExist')) },
    { why: 'a value that no label has', term: byLabels(requirement('zone', 'In', 'a', 'not a value')) },
    { why: 'a value that is too long', term: byLabels(requirement('zone', 'NotIn', 'x'.repeat(64))) },
    { why: 'a field by Exists', term: byFields(requirement('metadata.name', 'Exists')) },
    { why: 'a field by two names', term: byFields(requirement('metadata.name', 'In', 'w1', 'w2')) },
    { why: 'a field by no name', term: byFields(requirement('metadata.name', 'NotIn')) },
  ])('$why spoils its term, and no other', ({ term }) => {
    expect(mismatches(term)?.[0]?.unmet).toEqual([expect.objectContaining({ malformed: true })]);
    expect(matches(term, byLabels(requirement('zone', 'Exists')))).toBe(true);
  });
});

describe('requirements on fields', () => {
  it.each<[string, string, string, boolean]>([
    ['metadata.name', 'In', 'w1', true],
    ['metadata.name', 'In', 'w2', false],
    ['metadata.name', 'NotIn', 'w1', false],
    ['metadata.name', 'NotIn', 'w2', true],
    ['metadata.uid', 'In', 'w1', false],
    ['metadata.uid', 'NotIn', 'w1', true],
    // To Kubernetes, a field that nodes do not have is empty.
    ['metadata.uid', 'In', '', true],
    ['metadata.uid', 'NotIn', '', false],
  ])('%s %s %s: %s', (key, operator, value, yes) => {
    expect(matches(byFields(requirement(key, operator, value)))).toBe(yes);
  });

  it('a label with the name of the field is not the field', () => {
    const named = compileNodeAffinity([byFields(requirement('metadata.name', 'In', 'w2'))]);
    expect(named({ name: 'w1', labels: { 'metadata.name': 'w2' } })).toHaveLength(1);
  });
});

describe('terms', () => {
  const yes = byLabels(requirement('zone', 'In', 'a'));
  const no = byLabels(requirement('zone', 'In', 'b'));

  it('one of them is enough', () => {
    expect(matches(no, yes)).toBe(true);
  });

  it('says why each of them does not match', () => {
    expect(mismatches(no, EMPTY)?.map(({ index, unmet }) => [index, unmet.length])).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });

  it('an empty one matches no node, and does not prevent the match of another', () => {
    expect(mismatches(EMPTY)).toEqual([{ index: 0, unmet: [] }]);
    expect(matches(EMPTY, yes)).toBe(true);
  });

  it('without any, no node matches', () => {
    expect(mismatches()).toEqual([]);
  });

  it('labels and fields of one term must both match', () => {
    const field = requirement('metadata.name', 'In', 'w1');
    expect(matches({ ...yes, matchFields: [field] })).toBe(true);
    expect(matches({ ...no, matchFields: [field] })).toBe(false);
    expect(matches({ ...yes, matchFields: [requirement('metadata.name', 'In', 'w2')] })).toBe(false);
  });
});

it('agrees with a LabelSelector for each operator that both have', () => {
  const key = fc.constantFrom('a', 'b');
  const value = fc.constantFrom('', '1', '2');
  const expression = fc.oneof(
    fc.record({
      key,
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      key,
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
      values: fc.constant<string[]>([]),
    }),
  );
  const labels = fc.dictionary(key, value, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.array(expression, { minLength: 1, maxLength: 3 }), labels, (matchExpressions, labels) => {
      const matched = compileNodeAffinity([byLabels(...matchExpressions)])({ name: 'w1', labels }) === undefined;
      expect(matched).toBe(selects({ matchExpressions }, labels));
    }),
  );
});
