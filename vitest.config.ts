import { defineConfig } from 'vitest/config';
import { closingLine } from './test/helpers/closing-line.ts';

/** Files of e2e share nothing but the machine: each test has a folder, ports and processes of its own. They wait more than they work. */
const FILES_AT_A_TIME = Number(process.env['E2E_AT_A_TIME'] ?? 3);

// Limits are wide because they guard against hangs, on a machine that is slow and stands still now and then; no test measures time against them.
export default defineConfig({
  test: {
    retry: 0,
    allowOnly: false,
    reporters: ['default', closingLine()],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/{unit,scenarios,house}/**/*.test.ts'], testTimeout: 60_000 },
      },
      {
        extends: true,
        test: { name: 'sim', include: ['test/sim/**/*.test.ts'], testTimeout: 60_000 },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/{e2e,contract}/**/*.test.ts'],
          globalSetup: ['test/helpers/build.ts'],
          pool: 'forks',
          fileParallelism: FILES_AT_A_TIME > 1,
          maxWorkers: FILES_AT_A_TIME,
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 60_000, interval: 20 } },
        },
      },
    ],
  },
});
