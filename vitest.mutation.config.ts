import { defineConfig } from 'vitest/config';
import { common } from './vitest.config.ts';

/**
 * What judges a mutant: the unit tests of the folders that are mutated, and of those right above them. The property tests of `judge`, which take
 * most of the time of these folders, are left out: they nearly always find what one of the others finds.
 */
export default defineConfig({
  test: {
    ...common,
    include: ['test/unit/{kubernetes,policy,judge,cel,native,webhooks}/**/*.test.ts'],
    exclude: ['test/unit/judge/*.property.test.ts'],
  },
});
