import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';
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
    // With -t, those that were not asked for are skipped too.
    const selected = this.#vitest?.config.testNamePattern !== undefined;
    this.tally = tallyOf(modules, unhandledErrors.length, selected);
    for (const [obstacle, { files, tests }] of byObstacle(this.tally.skipped)) {
      process.stdout.write(`\nnot run, ${obstacle}:\n${[...files, ...tests].map((what) => `  ${what}\n`).join('')}`);
    }
    if (!this.#isPart) process.stdout.write(`\n${closingLine(this.tally)}\n`);
  }
}

function tallyOf(modules: readonly TestModule[], unhandledErrors: number, selected: boolean): Tally {
  let passed = 0;
  let failed = unhandledErrors;
  const skipped: Skipped[] = [];
  for (const module of modules) {
    // A file that could not be loaded has no tests to count.
    failed += module.errors().length;
    const tests = [...module.children.allTests()];
    const wholeFile = tests.every((test) => test.result().state === 'skipped');
    for (const test of tests) {
      const { state } = test.result();
      if (state === 'passed') passed++;
      else if (state !== 'skipped') failed++;
      else {
        const obstacle = obstacleOf(test) ?? (selected ? undefined : 'no reason is given');
        if (obstacle !== undefined) {
          skipped.push({ name: test.fullName, file: nameOf(module), wholeFile, obstacle });
        }
      }
    }
  }
  return { passed, failed, skipped };
}

/** A file runs in several projects: on another Kubernetes it is another file. */
function nameOf(module: TestModule): string {
  const { name } = module.project;
  return `${module.relativeModuleId}${name === 'e2e-1.34' ? ' (1.34)' : ''}`;
}

function obstacleOf(test: TestCase): string | undefined {
  for (let task: TestCase | TestSuite | TestModule = test; task.type !== 'module'; task = task.parent) {
    const { obstacle } = task.meta();
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
