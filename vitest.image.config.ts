import { defineConfig } from 'vitest/config';

/** The container image: built and run for real, which takes a minute and needs root and buildah. Not part of `npm test`. */
export default defineConfig({
  test: {
    name: 'image',
    include: ['test/image/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 600_000,
  },
});
