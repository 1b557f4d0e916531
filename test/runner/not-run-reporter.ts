import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';
import { otherVersionOf } from './suites.ts';
import { byObstacle, closingLine, NOTHING, type Skipped, type Tally } from './tally.ts';

/** Prints by name what did not run, and why; then one line that counts, unless that is said of several runs together. */
export default class NotRunReporter implements Reporter {
  tally: Tally = NOTHING;
  readonly #isPart: boolean;
  #vitest: Vitest | undefined;

  constructor({ isPart = false } = {}) {
    this.#isPart = isPart;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.tally = tallyOf(modules, unhandledErrors.length, this.#vitest?.config.testNamePattern);
    for (const [obstacle, { files, tests }] of byObstacle(this.tally.skipped)) {
      process.stdout.write(`\nnot run (${obstacle}):\n${[...files, ...tests].map((what) => `  ${what}\n`).join('')}`);
    }
    if (!this.#isPart) process.stdout.write(`\n${closingLine(this.tally)}\n`);
  }
}

/** @param pattern the one of `-t`: what it does not ask for is skipped, and not missed */
function tallyOf(modules: readonly TestModule[], unhandledErrors: number, pattern: RegExp | undefined): Tally {
  let passed = 0;
  let failed = unhandledErrors;
  const skipped: Skipped[] = [];
  for (const module of modules) {
    // A file that could not be loaded has no tests to count, and a hook that failed is none of them.
    for (const suite of [module, ...module.children.allSuites()]) failed += suite.errors().length;
    const tests = [...module.children.allTests()];
    const wholeFile = tests.every((test) => test.result().state === 'skipped');
    for (const test of tests) {
      const { state } = test.result();
      if (state === 'passed') passed++;
      else if (state !== 'skipped') failed++;
      else if (isAskedFor(test, pattern) && !hasFailedAround(test)) {
        const obstacle = obstacleOf(test) ?? 'no reason is given';
        skipped.push({ name: test.fullName, file: nameOf(module), wholeFile, obstacle });
      }
    }
  }
  return { passed, failed, skipped };
}

/** A file runs in several projects: on another Kubernetes it is another file. */
function nameOf(module: TestModule): string {
  const version = otherVersionOf(module.project.name);
  return `${module.relativeModuleId}${version ? ` (${version})` : ''}`;
}

function isAskedFor(test: TestCase, pattern: RegExp | undefined): boolean {
  // Vitest goes by the titles with nothing but blanks between them.
  return pattern?.test(test.fullName.replaceAll(' > ', ' ')) ?? true;
}

/** Whether it did not run because what goes before it failed. */
function hasFailedAround(test: TestCase): boolean {
  return around(test).some((suite) => suite.errors().length > 0);
}

function obstacleOf(test: TestCase): string | undefined {
  return [test, ...around(test)].map((task) => task.meta().obstacle).find((obstacle) => obstacle !== undefined);
}

/** The `describe`s around a test, the innermost first, and its file. */
function around(test: TestCase): (TestSuite | TestModule)[] {
  const found: (TestSuite | TestModule)[] = [test.parent];
  for (let last = found[0]; last?.type === 'suite'; last = last.parent) found.push(last.parent);
  return found;
}
