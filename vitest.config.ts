import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';

/** Many tests start the program: without this, each start reads and compiles all of its sources anew. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node') };

/** Each file starts a control plane of its own, and most of its time waits for clocks and Leases: two at a time leave no core idle. */
const endToEnd = {
  env,
  include: ['test/e2e/**/*.test.ts'],
  maxWorkers: 2,
  sequence: { groupOrder: 1 },
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

/** What depends on the API server's version. */
const VERSION_MATTERS = [
  'test/e2e/{crds,policy-validation,manifests,kubernetes-version,match-conditions,match-conditions-limits}.test.ts',
  'test/e2e/{node-taints,daemon-set-tolerations,cluster-install,service-account-rights,watch-cache,node-drift,events,native-export,native-nodes.property,native-daemon-sets.property}.test.ts',
];

/** What has nothing to do with it: the rig itself, and the demo. */
const VERSION_IS_NOTHING = ['test/e2e/rig*.test.ts', 'test/e2e/demo.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', './test/runner/not-run-reporter.ts'],
    projects: [
      {
        // They share nothing but modules, which a worker then reads once.
        test: { env, name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false, maxWorkers: '100%' },
      },
      { test: { env, name: 'tools', include: ['test/tools/**/*.test.ts'], sequence: { groupOrder: 0 } } },
      {
        // In a real browser, which has both cores to itself.
        test: {
          ...endToEnd,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...endToEnd, name: 'e2e', sequence: { groupOrder: 2 } } },
      {
        // On an older API server. What needs the other components, which are newer than it, skips itself.
        test: {
          ...endToEnd,
          name: 'e2e-1.34',
          sequence: { groupOrder: 2 },
          env: { ...env, TAINTKEEPER_TEST_KUBERNETES: '1.34' },
          ...(process.env.TAINTKEEPER_TEST_ALL ? {} : { include: VERSION_MATTERS }),
          exclude: [...configDefaults.exclude, ...VERSION_IS_NOTHING],
        },
      },
    ],
  },
});
