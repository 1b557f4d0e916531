import { expect, it } from 'vitest';
import { groupId, reportCoverage } from '../../../src/coverage/report.ts';
import { daemonSet, GPU, MASTER, NOT_READY, node } from './scheduling.ts';

it.each([
  [0, 'A'],
  [25, 'Z'],
  [26, 'AA'],
  [51, 'AZ'],
  [701, 'ZZ'],
  [702, 'AAA'],
])('group %i is called %s', (index, id) => {
  expect(groupId(index)).toBe(id);
});

const agent = { ...daemonSet('agent'), annotations: {} };
const fine = { ...daemonSet('fine', { tolerations: [{ operator: 'Exists' }] }), annotations: {} };
const options = { daemonSets: [agent, fine], placements: new Map(), grouped: true, onlyGaps: false };

it('counts the gaps that policies for the role taints close', () => {
  const nodes = [node('g', [GPU]), node('m', [MASTER]), node('r', [NOT_READY]), node('mg', [MASTER, GPU])];
  expect(reportCoverage({ ...options, nodes })).toMatchObject({
    gaps: [{ nodes: ['g'] }, { nodes: ['m'] }, { nodes: ['r'], passing: true }, { nodes: ['mg'] }],
    closable: 1,
    askable: ['dedicated'],
  });
});

it('with only the gaps, groups nodes by the DaemonSets that have any, and leaves out what passes', () => {
  const nodes = [node('g', [GPU]), node('r', [NOT_READY])];
  const report = reportCoverage({ ...options, nodes, onlyGaps: true });
  expect(report.daemonSets.map(({ name }) => name)).toEqual(['agent']);
  expect(report.gaps.map(({ nodes }) => nodes)).toEqual([['g']]);
});
