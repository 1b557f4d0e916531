import { beforeAll } from 'vitest';

// Stryker's runner sends the coverage of the worker after each file. One worker runs all files here (isolate: false), so what the tests of all
// files before reached would be sent again with each file, and the run ends for want of memory. What was reached while modules were loaded
// stays: Stryker leaves out what nothing else reaches.
beforeAll(() => {
  const { __stryker__: stryker } = globalThis as { __stryker__?: { mutantCoverage?: { perTest: object } } };
  if (stryker?.mutantCoverage) stryker.mutantCoverage.perTest = {};
});
