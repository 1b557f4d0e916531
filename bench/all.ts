import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs every bench, one after the other, and prints what each prints under its name: the material for RESULTS.md. It takes some three hours, most of
 * them for scale.ts, scale-curve.ts, startup-nodes.ts and real-startup-taints.ts; those named as arguments are run alone. Some need root.
 *
 *     npm run bench [-- FILE ...]
 */
const BENCHES = [
  'endpoint.ts',
  'growth.ts',
  'hostile-bodies.ts',
  'hostile-neighbours.ts',
  'cold-start.ts',
  'flood.ts',
  'api-server.ts',
  'cluster-start.ts',
  'compile-webhooks.ts',
  'coverage.ts',
  'coverage-cluster.ts',
  'native.ts',
  'startup-taints.ts',
  'startup-nodes.ts',
  'real-startup-taints.ts',
  'busy-node.ts',
  'scale.ts',
  'far-out.ts',
  'scale-curve.ts',
];

const named = process.argv.slice(2);
const unknown = named.filter((name) => !existsSync(join(import.meta.dirname, name)));
if (unknown.length > 0) {
  process.stderr.write(`error: there is no ${unknown.join(', no ')} in bench/; all: ${BENCHES.join(', ')}\n`);
  process.exit(2);
}
for (const bench of named.length > 0 ? named : BENCHES) {
  process.stdout.write(`\n## ${bench}\n\n`);
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, bench)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
