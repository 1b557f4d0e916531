import { describe, expect, it } from 'vitest';
import { checkContradictions } from '../../../src/doctor/checks/contradictions.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { healthyFacts, node, taintPolicy, unseen } from './facts.ts';

const present = (value: string | undefined, more: object = {}) => ({
  taints: [
    { key: 'dedicated', ...(value === undefined ? {} : { value }), effect: 'NoSchedule', ensure: 'Always', ...more },
  ],
});
const on = (labels: Record<string, string>) => ({ nodeSelector: { matchLabels: labels } });

describe('two policies', () => {
  it.each([
    { what: 'the same taint', a: present('a'), b: present('a'), expected: 'ok', evidence: /none among 2/ },
    { what: 'one names no value', a: present('a'), b: present(undefined), expected: 'ok', evidence: /none/ },
    {
      what: 'different effects',
      a: present('a'),
      b: present('b', { effect: 'NoExecute' }),
      expected: 'ok',
      evidence: /none/,
    },
    {
      what: 'the modes differ: the stronger one applies',
      a: { ...present('a'), mode: 'Deny' },
      b: present('a'),
      expected: 'ok',
      evidence: /none/,
    },
    {
      what: 'different values, on a node that is there',
      a: present('a'),
      b: { ...present('b'), ...on({ pool: 'gpu' }) },
      expected: 'problem',
      evidence: /TaintPolicies p and q require dedicated=a:NoSchedule and dedicated=b:NoSchedule.*both select node n1/,
    },
    {
      what: 'different values, and one of the policies only watches',
      a: present('a'),
      b: { ...present('b'), mode: 'Audit' },
      expected: 'note',
      evidence: /both select nodes n1, n2/,
    },
    {
      what: 'different values, for other nodes',
      a: { ...present('a'), ...on({ pool: 'gpu' }) },
      b: { ...present('b'), ...on({ pool: 'cpu' }) },
      expected: 'ok',
      evidence: /none/,
    },
    {
      what: 'different values, for a node that could be',
      a: { ...present('a'), ...on({ pool: 'gpu' }) },
      b: { ...present('b'), ...on({ zone: 'z' }) },
      expected: 'note',
      evidence: /there is none now/,
    },
    {
      what: 'different values, for nodes that are not there yet, where one selector includes the other',
      a: { ...present('a'), ...on({ pool: 'new' }) },
      b: { ...present('b'), ...on({ pool: 'new', zone: 'z' }) },
      expected: 'problem',
      evidence: /each node of q is one of p/,
    },
  ])('$what', ({ a, b, expected, evidence }) => {
    const policies = readingOf([taintPolicy('p', a), taintPolicy('q', b)]);
    const nodes = readingOf([node('n1', { pool: 'gpu' }), node('n2')]);
    const results = checkContradictions(healthyFacts({ policies, nodes }));
    expect(results).toEqual([expect.objectContaining({ state: expected, evidence: expect.stringMatching(evidence) })]);
  });
});

it('the findings of two policies are together, in the order of their rules', () => {
  const requiring = (...taints: readonly string[]) => ({
    taints: taints.map((text) => {
      const [key = '', value] = text.split('=');
      return { key, value, effect: 'NoSchedule', ensure: 'Always' };
    }),
  });
  const policies = readingOf([
    taintPolicy('p', requiring('y=1', 'z=1')),
    taintPolicy('q', requiring('x=2', 'y=2', 'z=2')),
    taintPolicy('r', requiring('z=3', 'x=3')),
  ]);
  const results = checkContradictions(healthyFacts({ policies, nodes: readingOf([node('n1')]) }));
  expect(results.map(({ evidence }) => /^TaintPolicies (. and . require \S+)/.exec(evidence)?.[1])).toEqual([
    'p and q require y=1:NoSchedule',
    'p and q require z=1:NoSchedule',
    'p and r require z=1:NoSchedule',
    'q and r require x=2:NoSchedule',
    'q and r require z=2:NoSchedule',
  ]);
});

it('needs no nodes to see that two selectors are the same', () => {
  const policies = readingOf([taintPolicy('p', present('a')), taintPolicy('q', present('b'))]);
  expect(checkContradictions(healthyFacts({ policies, nodes: unseen('403') }))).toMatchObject([{ state: 'problem' }]);
});

describe('a taint that is there, and protected by another policy', () => {
  const requiring = taintPolicy('p', present('a'));
  const protecting = (more: object) => taintPolicy('q', { taints: [{ key: 'dedicated', ...more }] });
  const carrying = (name: string) => node(name, {}, [{ key: 'dedicated', value: 'b', effect: 'NoSchedule' }]);

  it('is named once, with the nodes', () => {
    const policies = readingOf([requiring, protecting({})]);
    const nodes = readingOf(['n1', 'n2', 'n3', 'n4'].map(carrying));
    const evidence =
      'TaintPolicy p requires dedicated=a:NoSchedule, and q protects dedicated=b:NoSchedule, which these nodes carry: n1, n2, and 2 more';
    expect(checkContradictions(healthyFacts({ policies, nodes }))).toMatchObject([{ state: 'problem', evidence }]);
  });

  describe('on other nodes', () => {
    const inPool = (name: string, effect = 'NoSchedule') =>
      node(name, { pool: 'a' }, [{ key: 'dedicated', value: 'b', effect }]);
    const requiringInPool = (more: object = {}) => taintPolicy('p', { ...present('a', more), ...on({ pool: 'a' }) });
    const elsewhere = (name: string, spec: object) => taintPolicy(name, { ...spec, ...on({ pool: 'b' }) });

    it.each([
      { how: 'sets', spec: present('b') },
      { how: 'sets', spec: present('b', { ensure: 'AtRegistration' }) },
      { how: 'protects', spec: { taints: [{ key: 'dedicated', value: 'b' }] } },
    ])('is named if the other policy $how it there, with what to do', ({ how, spec }) => {
      const policies = readingOf([requiringInPool(), elsewhere('q', spec)]);
      const nodes = readingOf(['n1', 'n2', 'n3', 'n4'].map((name) => inPool(name)));
      expect(checkContradictions(healthyFacts({ policies, nodes }))).toMatchObject([
        {
          state: 'problem',
          evidence: `TaintPolicy p requires dedicated=a:NoSchedule, and these nodes carry dedicated=b:NoSchedule, which q ${how} on other nodes: n1, n2, and 2 more`,
          remedy:
            'correct the labels of these nodes, or set the required value on each: kubectl taint --overwrite node n1 dedicated=a:NoSchedule',
        },
      ]);
    });

    it('is named with the effect of the command, if it evicts pods', () => {
      const effect = 'NoExecute';
      const policies = readingOf([requiringInPool({ effect }), elsewhere('q', present('b', { effect }))]);
      const nodes = readingOf([inPool('n1', effect)]);
      expect(checkContradictions(healthyFacts({ policies, nodes }))).toMatchObject([
        { remedy: expect.stringContaining('on each, which evicts the pods there that do not tolerate it: kubectl') },
      ]);
    });

    it('counts only if no other policy protects it on the node itself', () => {
      const policies = readingOf([requiringInPool(), elsewhere('o', present('b')), protecting({ value: 'b' })]);
      expect(checkContradictions(healthyFacts({ policies, nodes: readingOf([inPool('n1')]) }))).toMatchObject([
        { evidence: expect.stringContaining('and q protects dedicated=b:NoSchedule, which these nodes carry: n1') },
      ]);
    });
  });

  it('does not count where the other policy means another value', () => {
    const policies = readingOf([requiring, protecting({ value: 'c' })]);
    expect(checkContradictions(healthyFacts({ policies, nodes: readingOf([carrying('n1')]) }))).toMatchObject([
      { state: 'ok' },
    ]);
  });
});
