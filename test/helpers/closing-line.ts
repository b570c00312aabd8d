import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number };

/**
 * Counts a run so that nothing broken looks green: a file that could not load, a failed hook, a test that never ended,
 * an error outside of every test and a run without any test all count as failures.
 */
function tally(modules: readonly TestModule[], strayErrors: number, reason: TestRunEndReason): Tally {
  let [passed, failed, skipped] = [0, strayErrors, 0];
  for (const module of modules) {
    for (const suite of [module, ...module.children.allSuites()]) failed += suite.errors().length > 0 ? 1 : 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed += 1;
      else if (state === 'skipped') skipped += 1;
      else failed += 1;
    }
  }
  const nothingRan = passed + failed + skipped === 0;
  if (failed === 0 && (nothingRan || reason !== 'passed')) failed = 1;
  return { passed, failed, skipped };
}

/**
 * Prints `N passed, N failed, N skipped` as the very last line of a run, for people and for machines that count.
 * With CATNAP_TALLY_FILE set it appends the three numbers to that file instead, so that a caller can add up several runs.
 */
export function closingLine(): Reporter {
  let last: Tally | undefined;
  const print = (): void => {
    const seen = last ?? { passed: 0, failed: 1, skipped: 0 };
    const endedBadly = seen.failed === 0 && Boolean(process.exitCode);
    const { passed, failed, skipped } = endedBadly ? { ...seen, failed: 1 } : seen;
    if (failed > 0) process.exitCode ||= 1;
    const file = process.env['CATNAP_TALLY_FILE'];
    if (file === undefined) process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    else appendFileSync(file, `${passed} ${failed} ${skipped}\n`);
  };
  return {
    onInit() {
      process.once('exit', print);
    },
    onTestRunEnd(modules, errors, reason) {
      last = tally(modules, errors.length, reason);
    },
  };
}
