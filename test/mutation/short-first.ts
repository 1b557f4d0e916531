import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than 0.2 s each, or try generated policies. Most mutants are found by one of the others, so these run last. */
const LONG = [
  /property\.test/,
  /generated-/,
  /cel-rules\/(match-conditions|updates-of-nodes|tolerations|long-lists)/,
  /webhooks\/entries/,
  /native\/translate-nodes/,
  /kubernetes\/text/,
  /controllers\/status/,
  /apply-warnings/,
];

/** Runs short files first: a mutant needs only one test that fails. vitest itself begins with the longest. */
export class ShortFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  return Number(LONG.some((pattern) => pattern.test(moduleId)));
}
