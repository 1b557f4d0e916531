import { startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { AS_IN_A_CLUSTER, install, registerControlPlaneNode, waitUntilProtected } from '../test/e2e/installation.ts';
import { BUNDLE, buildBundle } from './contenders.ts';
import { median } from './statistics.ts';

/**
 * How long it takes from starting replicas, in a cluster where nothing of taintkeeper's is but what `kubectl apply` makes, to
 * the first update that the API server refuses on their word: certificates, election, default policies, registration and the
 * API server's own watch included. Prints the rows of a Markdown table.
 */
const ROUNDS = 5;

const CASES = [
  { what: '1 replica', names: ['a'] },
  { what: '3 replicas at the same instant', names: ['a', 'b', 'c'] },
];

buildBundle();
await provideOrExit();
const times = new Map<string, number[]>(CASES.map(({ what }) => [what, []]));
for (let round = 0; round < ROUNDS; round++) {
  // Interleaved, each in a cluster of its own.
  for (const { what, names } of CASES) times.get(what)?.push(await measure(names));
}

async function measure(names: readonly string[]): Promise<number> {
  await using cp = await startControlPlane();
  const installation = await install(cp, [], AS_IN_A_CLUSTER);
  await registerControlPlaneNode(cp, 'cp-1');
  try {
    const began = performance.now();
    await installation.start(names, { program: BUNDLE });
    await waitUntilProtected(cp, 'cp-1');
    return performance.now() - began;
  } finally {
    await installation.stop();
  }
}

const base = median(times.get(CASES[0]?.what ?? '') ?? []);
process.stdout.write('| from start to the first refusal | median | range | ratio |\n| --- | --- | --- | --- |\n');
for (const [what, values] of times) {
  const range = `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)} ms`;
  process.stdout.write(
    `| ${what} | ${median(values).toFixed(0)} ms | ${range} | ${(median(values) / base).toFixed(2)} |\n`,
  );
}
