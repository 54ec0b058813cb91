import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores: more files at once would only make converters run into their time limits.
    maxWorkers: 2,
    maxConcurrency: 3,
    pool: 'forks',
  },
});
