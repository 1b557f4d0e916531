import { defineConfig } from 'vitest/config';
import { ShortFirst } from './test/mutation/short-first.ts';
import { common } from './vitest.config.ts';

/**
 * What judges a mutant: the unit tests of the folders that are mutated, and of those above them that use their results. The property tests of
 * judge and admission, which take most of the time, are left out: they nearly always find what one of the others finds.
 */
export default defineConfig({
  test: {
    ...common,
    setupFiles: [...common.setupFiles, 'test/mutation/coverage-of-file.ts'],
    include: [
      'test/unit/{kubernetes,policy,judge,cel,cel-rules,native,webhooks,admission,explain,controllers/status}/**/*.test.ts',
      'test/unit/replica/apply-warnings/policy-warnings.test.ts',
    ],
    sequence: { sequencer: ShortFirst },
    exclude: ['test/unit/{judge,admission}/**/*.property.test.ts'],
  },
});
