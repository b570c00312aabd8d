import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

type Tally = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, a line each. */
  readonly failures: readonly string[];
};

/**
 * Counts a run so that nothing broken looks green: a file that could not load, a failed hook, a test that never ended,
 * an error outside of every test and a run without any test all count as failures.
 */
function tally(modules: readonly TestModule[], strayErrors: number, reason: TestRunEndReason): Tally {
  let [passed, skipped] = [0, 0];
  const failures = Array.from({ length: strayErrors }, () => 'an error outside of every test');
  for (const module of modules) {
    const { relativeModuleId: file } = module;
    for (const suite of [module, ...module.children.allSuites()]) {
      const [error] = suite.errors();
      if (error !== undefined) failures.push(inOneLine(file, error.message));
    }
    for (const test of module.children.allTests()) {
      const { state, errors } = test.result();
      if (state === 'passed') passed += 1;
      else if (state === 'skipped') skipped += 1;
      else failures.push(inOneLine(`${file} > ${test.fullName}`, errors?.[0]?.message ?? state));
    }
  }
  const nothingRan = passed + failures.length + skipped === 0;
  if (failures.length === 0 && (nothingRan || reason !== 'passed')) failures.push(`the run ended as ${reason}`);
  return { passed, failed: failures.length, skipped, failures };
}

const inOneLine = (where: string, what: string): string => `${where}: ${what}`.replaceAll(/\s+/g, ' ').slice(0, 400);

/**
 * Prints `N passed, N failed, N skipped` as the very last line of a run, for people and for machines that count.
 * With CATNAP_TALLY_FILE set it appends the three numbers to that file instead, so that a caller can add up several runs,
 * and below them what failed, each line after a `#`, so that it can be said once more at the end.
 */
export function closingLine(): Reporter {
  let last: Tally | undefined;
  const print = (): void => {
    const seen = last ?? { passed: 0, failed: 1, skipped: 0, failures: ['the run did not end'] };
    const endedBadly = seen.failed === 0 && Boolean(process.exitCode);
    const { passed, failed, skipped, failures } = endedBadly
      ? { ...seen, failed: 1, failures: ['the run ended badly after its tests'] }
      : seen;
    if (failed > 0) process.exitCode ||= 1;
    const file = process.env['CATNAP_TALLY_FILE'];
    if (file === undefined) process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    else
      appendFileSync(file, [`${passed} ${failed} ${skipped}`, ...failures.map((line) => `# ${line}`), ''].join('\n'));
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
