import { expect, it } from 'vitest';
import { compareSurvivors, type Mutant } from '../../mutation/survivors.ts';

const SOURCE = `function place(nodes) {
  if (nodes.length === 0) return [];
  return nodes.map(
    (node) => node.name,
  );
}
`;

const SHORT_CUT: Mutant = {
  file: 'src/place.ts',
  line: 'if (nodes.length === 0) return [];',
  from: 'nodes.length === 0',
  to: 'false',
};
const LIST: Mutant = {
  file: 'src/place.ts',
  line: 'return nodes.map(',
  from: 'nodes.map( (node) => node.name, )',
  to: '[]',
};

const REPORT = {
  files: {
    'src/place.ts': {
      source: SOURCE,
      mutants: [
        mutant('Survived', 'false', [2, 7], [2, 25]),
        mutant('Killed', 'true', [2, 7], [2, 25]),
        mutant('NoCoverage', '[]', [3, 10], [5, 4]),
        mutant('Timeout', 'nodes', [3, 10], [5, 4]),
      ],
    },
  },
};

/** Lines and columns count from 1, and the end is behind the last character. */
function mutant(
  status: string,
  replacement: string,
  [line, column]: [number, number],
  [endLine, endColumn]: [number, number],
) {
  return { status, replacement, location: { start: { line, column }, end: { line: endLine, column: endColumn } } };
}

it('a survivor is explained by its texts, wherever the line is', () => {
  expect(compareSurvivors(REPORT, [{ reason: 'a short cut', mutants: [SHORT_CUT, LIST] }])).toEqual({
    unexplained: [],
    outdated: [],
  });
});

it('a survivor without an explanation is listed, with its line', () => {
  const { unexplained } = compareSurvivors(REPORT, [{ reason: 'a short cut', mutants: [SHORT_CUT] }]);
  expect(unexplained).toMatchObject([{ file: 'src/place.ts', lineNumber: 3, line: '  return nodes.map(', to: '[]' }]);
});

it('an explanation of a mutant that a test notices, or that does not exist, is outdated', () => {
  const killed = { ...SHORT_CUT, to: 'true' };
  const changed = { ...SHORT_CUT, line: 'if (!nodes.length) return [];' };
  expect(
    compareSurvivors(REPORT, [{ reason: 'a short cut', mutants: [SHORT_CUT, LIST, killed, changed] }]).outdated,
  ).toEqual([killed, changed]);
});

it('a mutant whose tests took too long needs no explanation, and may have one: on a machine with less load, they end', () => {
  const slow = { ...LIST, to: 'nodes' };
  const explained = [SHORT_CUT, LIST, slow];
  expect(compareSurvivors(REPORT, [{ reason: 'the same result', mutants: explained }])).toEqual({
    unexplained: [],
    outdated: [],
  });
});

it('an explanation for a file that was not checked is not outdated', () => {
  const elsewhere = { ...SHORT_CUT, file: 'src/elsewhere.ts' };
  expect(compareSurvivors(REPORT, [{ reason: 'a short cut', mutants: [SHORT_CUT, LIST, elsewhere] }]).outdated).toEqual(
    [],
  );
});
