import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/page/state.ts';
import { ANSWERS, answerName, groupNames } from '../../../../src/page/static/coverage-words.js';

const group = (label: string, count = 2): NodeGroup => ({
  label,
  count,
  examples: ['n1', 'n2'].slice(0, count),
  taints: [],
});

it('names a group by its only node, or else by what its nodes have in common, and each by another name', () => {
  const groups = [
    group('control-plane, topology.kubernetes.io/zone=a'),
    group('pool=gpu, topology.kubernetes.io/zone=a'),
    group('pool=gpu, topology.kubernetes.io/zone=a'),
    group('pool=gpu', 1),
    group('example.com/large='),
    group(''),
  ];
  expect(groupNames(groups)).toEqual(['control-plane a', 'gpu a', 'gpu a #2', 'n1', 'example.com/large', 'others']);
});

it('has another word where pods run and are evicted again', () => {
  expect(answerName({ kind: 'runs', reasons: [] })).toBe('runs');
  expect(answerName({ kind: 'runs', evicted: true, reasons: [] })).toBe('evicted');
});

it.each(Object.entries(ANSWERS))(
  'has one word for an answer, in the cells and in the legend: %s',
  (look, { sign, word }) => {
    const page = readFileSync(join(import.meta.dirname, '../../../../src/page/static/index.html'), 'utf8');
    expect(page).toContain(`<span class="answer is-${look}" aria-hidden="true">${sign}</span> ${word}</li>`);
  },
);
