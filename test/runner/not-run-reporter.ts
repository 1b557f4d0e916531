import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';
import { otherVersionOf } from './suites.ts';
import { byObstacle, closingLine, type Failure, failureList, NOTHING, type Skipped, type Tally } from './tally.ts';

/**
 * Prints the tests that did not run, and why. Then it prints the failed tests and one line with the counts, unless the run is one part of
 * several: the runner prints those for all parts together.
 */
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

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.tally = tallyOf(modules, unhandledErrors, this.#vitest?.config.testNamePattern);
    for (const [obstacle, { files, tests }] of byObstacle(this.tally.skipped)) {
      process.stdout.write(`\nnot run (${obstacle}):\n${[...files, ...tests].map((what) => `  ${what}\n`).join('')}`);
    }
    if (!this.#isPart) process.stdout.write(`${failureList(this.tally.failures)}\n${closingLine(this.tally)}\n`);
  }
}

/** @param pattern the one of `-t`: what it does not ask for is skipped, and not missed */
function tallyOf(
  modules: readonly TestModule[],
  unhandledErrors: readonly SerializedError[],
  pattern: RegExp | undefined,
): Tally {
  let passed = 0;
  const failures: Failure[] = unhandledErrors.map((error) => ({ where: 'outside of tests', error: textOf(error) }));
  const skipped: Skipped[] = [];
  for (const module of modules) {
    // A file that could not be loaded has no tests to count, and a hook that failed is none of them.
    for (const suite of [module, ...module.children.allSuites()]) {
      const where = suite.type === 'module' ? nameOf(module) : `${nameOf(module)} > ${suite.fullName}`;
      failures.push(...suite.errors().map((error) => ({ where, error: textOf(error) })));
    }
    const tests = [...module.children.allTests()];
    const wholeFile = tests.every((test) => test.result().state === 'skipped');
    for (const test of tests) {
      const { state, errors = [] } = test.result();
      if (state === 'passed') passed++;
      else if (state !== 'skipped') {
        const error = errors[0] ? textOf(errors[0]) : 'it did not end';
        failures.push({ where: `${nameOf(module)} > ${test.fullName}`, error });
      } else if (isAskedFor(test, pattern) && !hasFailedAround(test)) {
        const obstacle = obstacleOf(test) ?? 'no reason is given';
        skipped.push({ name: test.fullName, file: nameOf(module), wholeFile, obstacle });
      }
    }
  }
  return { passed, failures, skipped };
}

function textOf({ name, message }: SerializedError): string {
  return stripVTControlCharacters(name ? `${name}: ${message}` : message);
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
