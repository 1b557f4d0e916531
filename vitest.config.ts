import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { onOlderKubernetes } from './test/runner/suites.ts';
import { seedEnvironment } from './test/seed.ts';

const env = {
  /** Many tests start the program: without this, each start reads and compiles all of its sources anew. */
  NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node'),
  ...seedEnvironment(),
};
const setupFiles = ['test/fixed-seed.ts'];

/** Each file starts a control plane of its own, and most of its time waits for clocks and Leases: four at a time leave no core idle. */
const endToEnd = { env, setupFiles, maxWorkers: 4, testTimeout: 60_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    reporters: ['default', './test/runner/not-run-reporter.ts'],
    projects: [
      {
        // A worker reads each module once, for all files. What a test changes besides, it puts back.
        test: { env, setupFiles, name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false, maxWorkers: 2 },
      },
      { test: { env, setupFiles, name: 'tools', include: ['test/tools/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      {
        // In a real browser, which has both cores to itself.
        test: {
          ...endToEnd,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: { ...endToEnd, name: 'e2e', include: ['test/e2e/**/*.test.ts'], sequence: { groupOrder: 3 } },
      },
      {
        // On an older API server. What needs the other components, which are newer than it, skips itself.
        test: {
          ...endToEnd,
          name: 'e2e-1.34',
          env: { ...env, TAINTKEEPER_TEST_KUBERNETES: '1.34' },
          ...onOlderKubernetes(),
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
