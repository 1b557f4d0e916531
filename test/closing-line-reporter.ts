import type { Reporter, TestModule, TestResult } from 'vitest/node';

/** Ends the output with a line that CI can read: `120 passed, 0 failed, 3 skipped`. */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Record<TestResult['state'], number> = {
      passed: 0,
      failed: unhandledErrors.length,
      skipped: 0,
      pending: 0,
    };
    for (const module of modules) {
      // A file that could not be loaded has no tests to count.
      counts.failed += module.errors().length;
      for (const test of module.children.allTests()) counts[test.result().state]++;
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed + counts.pending} failed${skipped}\n`);
  }
}
