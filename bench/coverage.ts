import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from './statistics.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * How long `taintkeeper coverage` takes for a large cluster in files: from exec to the last byte of the table. Prints the rows of
 * a Markdown table.
 */
const ROUNDS = 5;
const DAEMON_SETS = 50;
/** What a Node has besides: its images and its managedFields, for the most part. */
const NODE_BYTES = 36_000;

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'taintkeeper.js');
const folder = mkdtempSync(join(tmpdir(), 'taintkeeper-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, i) => make(i));

function node(index: number): object {
  const labels = {
    'kubernetes.io/hostname': `node-${index}`,
    'topology.kubernetes.io/zone': `zone-${index % 3}`,
    pool: `pool-${index % 7}`,
  };
  const master = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
  const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
  const taints = index % 50 === 0 ? [master] : index % 7 === 3 ? [gpu] : [];
  return {
    metadata: { name: `node-${index}`, labels, annotations: { rest: 'x'.repeat(NODE_BYTES) } },
    spec: { taints },
  };
}

function daemonSet(index: number): object {
  const zones = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-0', 'zone-1'] };
  const nodeSelectorTerms = [{ matchExpressions: [zones] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  const spec = {
    ...(index % 5 === 0 ? { nodeSelector: { pool: `pool-${index % 7}` } } : {}),
    ...(index % 6 === 0 ? { affinity: { nodeAffinity } } : {}),
    tolerations: index % 2 === 0 ? [] : [{ operator: 'Exists' }],
  };
  return { metadata: { namespace: 'kube-system', name: `agent-${index}` }, spec: { template: { spec } } };
}

function write(name: string, kind: string, apiVersion: string, items: object[]): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ kind, apiVersion, items }));
  return file;
}

function run(files: readonly string[]): string {
  try {
    return execFileSync(process.execPath, [PROGRAM, 'coverage', ...files], { encoding: 'utf8' });
  } catch (error) {
    // Code 1: there are gaps.
    return (error as { stdout: string }).stdout;
  }
}

const sizes = [100, 1_000, 5_000];
const inputs = sizes.map((nodes) => [
  write(`nodes-${nodes}.json`, 'NodeList', 'v1', times(nodes, node)),
  write('daemon-sets.json', 'DaemonSetList', 'apps/v1', times(DAEMON_SETS, daemonSet)),
]);
const measured = sizes.map((): number[] => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, files] of inputs.entries()) {
    const { seconds } = stopwatch();
    run(files);
    measured[index]?.push(seconds());
  }
}

process.stdout.write('| nodes | groups | median | range |\n| --- | --- | --- | --- |\n');
for (const [index, nodes] of sizes.entries()) {
  const values = measured[index] ?? [];
  const groups =
    run(inputs[index] ?? [])
      .split('\n\n')[0]
      ?.trimEnd()
      .split('\n').length ?? 0;
  const range = `${Math.min(...values).toFixed(1)}-${Math.max(...values).toFixed(1)} s`;
  process.stdout.write(`| ${nodes} | ${groups - 1} | ${median(values).toFixed(1)} s | ${range} |\n`);
}
