import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';

/** Many tests start the program: without this, each start reads and compiles all of its sources anew. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node') };

/** Each file starts a control plane of its own: one after the other, also over the projects, so that two cores suffice. */
const endToEnd = {
  env,
  include: ['test/e2e/**/*.test.ts'],
  fileParallelism: false,
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

/** What takes long, and hardly depends on the API server's version: on the older one only when asked for. */
const LONG_ONES = [
  'test/e2e/{lost-taint,contested-taint,drift-leader,drift-report,leader-election}.test.ts',
  'test/e2e/{cluster-faults,cluster-trust,cluster-certificates,trust-prober,doctor,chart,install-guide}.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      { test: { env, name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        // In a real browser; one file after the other, as the browser has both cores to itself.
        test: { ...endToEnd, name: 'browser', include: ['test/browser/**/*.test.ts'] },
      },
      { test: { ...endToEnd, name: 'e2e' } },
      {
        // The same tests on an older API server. Those that need the other components, which are newer than it, skip
        // themselves; those of the rig and the demo have nothing to do with its version.
        test: {
          ...endToEnd,
          name: 'e2e-1.34',
          env: { ...env, TAINTKEEPER_TEST_KUBERNETES: '1.34' },
          exclude: [
            ...configDefaults.exclude,
            'test/e2e/rig*.test.ts',
            'test/e2e/demo.test.ts',
            ...(process.env.TAINTKEEPER_TEST_ALL ? [] : LONG_ONES),
          ],
        },
      },
    ],
  },
});
