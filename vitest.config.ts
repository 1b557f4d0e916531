import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { OTHER_VERSIONS } from './test/control-plane/kubernetes.ts';
import { LONGEST_WAIT_MS } from './test/longest-wait.ts';
import { onOtherKubernetes, projectOf } from './test/runner/suites.ts';
import { seedEnvironment } from './test/seed.ts';

export const common = {
  env: {
    /** Many tests start the program: without this, each start reads and compiles all of its sources anew. */
    NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node'),
    ...seedEnvironment(),
  },
  setupFiles: ['test/fixed-seed.ts'],
  /** A worker reads each module once, for all files. What a test changes besides, it puts back. */
  isolate: false,
  maxWorkers: 2,
  /** Against what hangs. Many tests start programs, which takes a busy machine more than the five seconds that vitest gives. */
  testTimeout: 30_000,
  hookTimeout: 30_000,
  expect: { poll: { timeout: LONGEST_WAIT_MS, interval: 10 } },
};

/** Three control planes at a time keep two cores busy. More gain little, and where the cores are slow, their tests time out. */
const endToEnd = {
  ...common,
  maxWorkers: 3,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: LONGEST_WAIT_MS, interval: 50 } },
  sequence: { groupOrder: 2 },
};

export default defineConfig({
  test: {
    reporters: ['default', './test/runner/not-run-reporter.ts'],
    projects: [
      { test: { ...common, name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      { test: { ...common, name: 'tools', include: ['test/tools/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      { test: { ...endToEnd, name: 'browser', include: ['test/browser/**/*.test.ts'] } },
      { test: { ...endToEnd, name: 'e2e', include: ['test/e2e/**/*.test.ts'] } },
      {
        // Each file has the machine's two cores for its nodes.
        test: {
          ...endToEnd,
          name: 'real-node',
          include: ['test/real-node/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      // Machines that boot, and control planes that kubeadm upgrades, wait most of their time.
      {
        test: {
          ...endToEnd,
          name: 'places',
          include: ['test/places/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      // On API servers of other versions. What needs components that are newer than its API server skips itself.
      ...OTHER_VERSIONS.map((version) => ({
        test: {
          ...endToEnd,
          name: projectOf(version),
          env: { ...common.env, TAINTKEEPER_TEST_KUBERNETES: version },
          ...onOtherKubernetes(version),
        },
      })),
    ],
  },
});
