/** Any number would do, as long as it stays: the same commit tries the same cases. */
const SEED = 20_261_122;

/** Chosen by whoever runs the tests: a number, or `random`. */
const VARIABLE = 'TAINTKEEPER_SEED';

const SEEDS = 2 ** 31;

/** Whether the cases are others than usual, of which nobody knows what is among them. */
export function isExploring(): boolean {
  return Boolean(process.env[VARIABLE]);
}

/**
 * The seed from which tests draw.
 * @param usual the test's own, where what it draws was looked at
 */
export function seed(usual = SEED): number {
  const chosen = process.env[VARIABLE];
  return chosen ? parseSeed(chosen) : usual;
}

/**
 * The environment of the processes that run tests: all of them draw from one seed, and a new one is printed, so that a failure
 * can be had again.
 */
export function seedEnvironment(): Record<string, string> {
  if (process.env[VARIABLE] !== 'random') return {};
  const fresh = String(Date.now() % SEEDS);
  process.stderr.write(`again with the same cases: ${VARIABLE}=${fresh}\n`);
  return { [VARIABLE]: fresh };
}

function parseSeed(text: string): number {
  if (!/^-?\d{1,10}$/.test(text)) throw new Error(`${VARIABLE} has to be a number or "random", not "${text}"`);
  return Number(text);
}
