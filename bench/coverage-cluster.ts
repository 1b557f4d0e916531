import { join } from 'node:path';
import { startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { runTool } from '../test/control-plane/run-tool.ts';
import { admin } from '../test/control-plane/users.ts';
import { createDaemonSets, createNodes, survey } from './large-nodes.ts';
import { median } from './statistics.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * How long `taintkeeper coverage` takes in a large cluster, from exec to the end of the table, with the API server on the same
 * machine. The DaemonSets have no pods: with `--pods all`, 50 lists come back empty. Prints the rows of a Markdown table.
 */
const ROUNDS = 5;
const NODES = Number(process.argv[2] ?? 5_000);
const DAEMON_SETS = 50;

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'taintkeeper.js');

await provideOrExit();
await using cp = await startControlPlane();
await createNodes(cp, NODES);
await createDaemonSets(cp, DAEMON_SETS);
const { count, bytes } = await survey(cp);
process.stdout.write(`${count} nodes of ${(bytes / 1024).toFixed(0)} KiB, ${DAEMON_SETS} DaemonSets\n\n`);

const kubeconfig = await cp.kubeconfigFile(admin);
process.stdout.write('| pods | median | range |\n| --- | --- | --- |\n');
for (const pods of ['none', 'all']) {
  const values: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { seconds } = stopwatch();
    const args = [PROGRAM, 'coverage', '--kubeconfig', kubeconfig, '--pods', pods];
    const { code, stderr } = await runTool(process.execPath, args, { env: process.env });
    if (code !== 0) throw new Error(stderr);
    values.push(seconds());
  }
  const range = `${Math.min(...values).toFixed(1)}-${Math.max(...values).toFixed(1)} s`;
  process.stdout.write(`| ${pods} | ${median(values).toFixed(1)} s | ${range} |\n`);
}
