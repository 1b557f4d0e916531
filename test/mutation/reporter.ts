/**
 * A reporter of Stryker, for `npm run test:mutation`: prints the survivors that `survivors.yaml` does not explain, and the explanations that are
 * outdated. Either fails the run.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { compareSurvivors, type Explanation, type MutationReport, oneLine } from './survivors.ts';

const EXPLAINED = join(import.meta.dirname, 'survivors.yaml');

export const strykerPlugins = [{ kind: 'Reporter', name: 'unexplained', value: { onMutationTestReportReady: report } }];

function report(result: MutationReport): void {
  const explained: Explanation[] = parse(readFileSync(EXPLAINED, 'utf8'));
  const { unexplained, outdated } = compareSurvivors(result, explained);
  const places = unexplained.map(({ file, lineNumber }) => `${file}:${lineNumber}`);
  if (unexplained.length > 0) {
    process.stdout.write(`\nSurvivors at ${[...new Set(places)].join(', ')}.\n`);
    process.stdout.write(
      'Add a case that notices them, simplify the code, or explain them in test/mutation/survivors.yaml:\n\n',
    );
    process.stdout.write(entries(unexplained));
  }
  if (outdated.length > 0) {
    process.stdout.write('\nNot among the survivors. Delete them from test/mutation/survivors.yaml:\n\n');
    process.stdout.write(entries(outdated));
  }
  if (unexplained.length + outdated.length > 0) process.exitCode = 1;
}

/** As survivors.yaml has them. */
function entries(mutants: Explanation['mutants']): string {
  return stringify(
    mutants.map(({ file, line, from, to }) => ({ file, line: oneLine(line), from: oneLine(from), to: oneLine(to) })),
    { lineWidth: 0 },
  );
}
