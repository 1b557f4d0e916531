import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Tests with every fate that there is, for a run of their own (see ../not-run-reporter.test.ts). */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.sample.ts'],
    reporters: [join(import.meta.dirname, '..', '..', '..', 'runner', 'not-run-reporter.ts')],
  },
});
