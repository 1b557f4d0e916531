import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatCoverage } from '../../../../src/cli/coverage/coverage-text.ts';
import { reportCoverage } from '../../../../src/coverage/report.ts';
import { daemonSet, node } from '../../scheduling/scheduling.ts';

describe('the groups of coverage', () => {
  const daemonSets = [{ ...daemonSet('agent'), annotations: {} }];
  const nodes = Array.from({ length: 12 }, (_, i) => node(`n${i}`, [{ key: `k${i}`, effect: 'NoSchedule' }]));
  const report = reportCoverage({
    daemonSets,
    nodes,
    placements: new Map(),
    tolerationPolicies: [],
    grouped: true,
    onlyGaps: false,
  });
  const headings = (format: 'table' | 'wide') =>
    stripVTControlCharacters(formatCoverage(report, { refused: [], notes: [], grouped: true, format }))
      .split('\n')
      .filter((line) => /^DAEMONSET +[A-Z]( |$)/.test(line))
      .map((line) => line.split(/ +/).slice(1).join(''));

  it.each([
    { why: 'ten abreast', isTTY: false, columns: 80, format: 'table' as const, found: ['ABCDEFGHIJ', 'KL'] },
    { why: 'all of them, if asked', isTTY: false, columns: 80, format: 'wide' as const, found: ['ABCDEFGHIJKL'] },
    { why: 'as many as fit', isTTY: true, columns: 40, format: 'table' as const, found: ['ABC', 'DEF', 'GHI', 'JKL'] },
    { why: 'one, at least', isTTY: true, columns: 10, format: 'table' as const, found: [...'ABCDEFGHIJKL'] },
  ])('are $why', ({ isTTY, columns, format, found }) => {
    const { stdout } = process;
    const before = { isTTY: stdout.isTTY, columns: stdout.columns };
    Object.assign(stdout, { isTTY, columns });
    try {
      expect(headings(format).map((line) => line.replaceAll(/[^A-L]/g, ''))).toEqual(found);
    } finally {
      Object.assign(stdout, before);
    }
  });
});
