import { beforeAll } from 'vitest';

/** Which mutants each test reached, as Stryker's instrumented code counts them in a worker. */
interface Coverage {
  static: object;
  perTest: object;
}

// Stryker's runner sends the coverage of the worker after each file. One worker runs all files here (isolate: false), so the coverage of all
// files before would be sent again with each file, and the run ends for want of memory.
beforeAll(() => {
  const { __stryker__: stryker } = globalThis as { __stryker__?: { mutantCoverage?: Coverage } };
  if (stryker?.mutantCoverage) Object.assign(stryker.mutantCoverage, { static: {}, perTest: {} });
});
