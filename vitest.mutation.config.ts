import { defineConfig } from 'vitest/config';
import { common } from './vitest.config.ts';

/**
 * What judges a mutant: the unit tests of the folders that are mutated, and of those right above them. Property tests are left out, which
 * take most of the time of these folders and nearly always find what one of the others finds.
 */
export default defineConfig({
  test: {
    ...common,
    include: ['test/unit/{kubernetes,policy,judge,cel,native,webhooks}/**/*.test.ts'],
    exclude: ['**/*.property.test.ts'],
  },
});
