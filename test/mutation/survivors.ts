/** Compares the mutants that survived a run of Stryker with those that `survivors.yaml` explains. */

/** What is read of Stryker's report (mutation-testing-report-schema). */
export interface MutationReport {
  /** By path. */
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly TestedMutant[] }>>;
}

interface TestedMutant {
  readonly status: string;
  readonly replacement?: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

/** Both count from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

/** One mutant, by its texts: line numbers change with every edit. White space counts as one space. */
export interface Mutant {
  readonly file: string;
  /** The line on which the changed text begins. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
}

export interface Explanation {
  /** Why no test can notice these mutants. */
  readonly reason: string;
  readonly mutants: readonly Mutant[];
}

export interface Comparison {
  /** Survivors without an explanation: each needs a test case, simpler code, or an explanation. */
  readonly unexplained: readonly (Mutant & { readonly lineNumber: number })[];
  /** Explained mutants of the checked files that a test noticed, or that do not exist. */
  readonly outdated: readonly Mutant[];
}

const SURVIVING = new Set(['Survived', 'NoCoverage']);

/** One that was stopped is not noticed by a test either. On a busy machine, the tests of a mutant that only takes more time are too slow. */
const UNNOTICED = new Set([...SURVIVING, 'Timeout']);

export function compareSurvivors(report: MutationReport, explained: readonly Explanation[]): Comparison {
  const unnoticed = Object.entries(report.files).flatMap(([file, { source, mutants }]) =>
    mutants
      .filter(({ status }) => UNNOTICED.has(status))
      .map((mutant) => ({ ...mutant, ...textsOf(file, source, mutant) })),
  );
  const known = explained.flatMap(({ mutants }) => mutants).filter(({ file }) => file in report.files);
  const unnoticedKeys = new Set(unnoticed.map(keyOf));
  const explainedKeys = new Set(known.map(keyOf));
  return {
    unexplained: unnoticed
      .filter((mutant) => SURVIVING.has(mutant.status) && !explainedKeys.has(keyOf(mutant)))
      .map(({ file, line, from, to, location }) => ({ file, line, from, to, lineNumber: location.start.line })),
    outdated: known.filter((mutant) => !unnoticedKeys.has(keyOf(mutant))),
  };
}

function textsOf(file: string, source: string, { replacement = '', location: { start, end } }: TestedMutant): Mutant {
  const lines = source.split('\n');
  const changed = lines.slice(start.line - 1, end.line);
  // The end first: on a single line, cutting the begin would move it.
  changed.push((changed.pop() ?? '').slice(0, end.column - 1));
  changed.unshift((changed.shift() ?? '').slice(start.column - 1));
  return { file, line: lines[start.line - 1] ?? '', from: changed.join('\n'), to: replacement };
}

function keyOf({ file, line, from, to }: Mutant): string {
  return [file, line, from, to].map(oneLine).join('\n');
}

export function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
