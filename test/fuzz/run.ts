import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { exitFor, numberOf } from '../control-plane/provide-or-exit.ts';
import { TARGETS } from './targets.ts';

/**
 * Throws generated input at everything that takes some: `npm run fuzz -- --cases 1000000 --seed 7 --only NAME`. Ends with 1, and
 * the smallest input that was found, when something does not hold.
 */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: process.env.FUZZ_CASES ?? '1000000' },
    seed: { type: 'string' },
    only: { type: 'string' },
    path: { type: 'string' },
  },
});
const cases = numberOf('cases', values.cases);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : numberOf('seed', values.seed);
const targets = TARGETS.filter(({ name }) => values.only === undefined || name === values.only);
if (targets.length === 0) exitFor(`there are ${TARGETS.map(({ name }) => `'${name}'`).join(', ')}`);
const shares = targets.reduce((sum, { share }) => sum + share, 0);

const say = (text: string) => process.stdout.write(`${text}\n`);
say(`${cases} cases, seed ${seed}; again: npm run fuzz -- --cases ${cases} --seed ${seed}`);
for (const { name, share, property } of targets) {
  const numRuns = Math.ceil((cases * share) / shares);
  const start = performance.now();
  const details = await fc.check(property, { numRuns, seed, ...(values.path ? { path: values.path } : {}) });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  say(`${details.failed ? 'FAILED' : 'ok    '} ${name}: ${details.numRuns} cases, ${seconds} s`);
  if (!details.failed) continue;
  process.exitCode = 1;
  say(
    `${fc.defaultReportMessage(details)}\n${details.errorInstance instanceof Error ? details.errorInstance.stack : ''}`,
  );
  say(`again: npm run fuzz -- --only '${name}' --seed ${seed} --path '${details.counterexamplePath}'`);
}
