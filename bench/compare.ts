import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { deployedEnvironment } from '../test/control-plane/as-deployed.ts';
import { onExit } from '../test/control-plane/on-exit.ts';
import { launchServe, type ServeProcess } from '../test/control-plane/serve-process.ts';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { checkOut } from './compare/checkout.ts';
import { cellsOf, type Figure, HEADINGS, isHigher, LIMIT } from './compare/figure.ts';
import { buildBundle, ROOT } from './contenders.ts';
import { measure } from './endpoint/load.ts';
import { writeRequest } from './endpoint/request-file.ts';
import { REVIEW_CASES } from './endpoint/reviews.ts';
import { inTurn, warmUp } from './in-turn.ts';
import { printHead, printRow } from './markdown-table.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { memoryOf } from './process-memory.ts';

/**
 * Compares the bundle of these sources with that of an earlier commit: CPU of requests and of a start, memory at rest and under load, and size.
 * Both run on the same Node.js, one after the other in each round. Prints a Markdown table. Exit code: 0, 1 if CPU or memory is higher, 2 if it
 * cannot compare. Ten minutes on two cores. Linux only.
 *
 *     npm run bench:compare -- BASE [--rounds N]
 */
const CONNECTIONS = 8;
const BURST_SECONDS = 0.7;
/** In each life of a process. An even number: each side is the first one as often as the other. */
const BURSTS = 2;
const REST_MS = 3_000;
const START_TIMEOUT_MS = 30_000;

interface Side {
  readonly name: 'before' | 'after';
  /** The checkout: it has a bundle, and policies that this bundle reads. */
  readonly folder: string;
}

type Values = Record<Side['name'], number[]>;

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`);
  process.exitCode = 2;
}

async function main(): Promise<number> {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string', default: '11' } },
  });
  const [revision] = positionals;
  if (revision === undefined || positionals.length > 1) {
    throw new Error('name the commit to compare with: npm run bench:compare -- BASE');
  }
  const rounds = Number(flags.rounds);
  const workspace = createWorkspace('compare');
  const base = checkOut(revision, workspace);
  onExit(base.remove);
  buildBundle();
  process.stdout.write(`before: ${base.title}\n\n`);

  const sides: readonly Side[] = [
    { name: 'before', folder: base.folder },
    { name: 'after', folder: ROOT },
  ];
  const certDir = workspace.path('certs');
  mkdirSync(certDir);
  const serve = async ({ name, folder }: Side): Promise<ServeProcess & { readonly port: number }> => {
    const policies = join(folder, 'bench', 'peers', 'policies.yaml');
    const args = ['--port', '0', '--admin-port', '0', '--cert-dir', certDir, '--policies', policies];
    const program = join(folder, 'dist', 'taintkeeper.cjs');
    const env = { ...deployedEnvironment(), NODE_COMPILE_CACHE: workspace.path(`compile-cache-${name}`) };
    const running = await launchServe(name, args, { workspace: createWorkspace('serve'), env, program });
    return { ...running, port: (await running.listening(START_TIMEOUT_MS)).port };
  };
  // The first start issues the certificates that all others find, and leaves what V8 has compiled.
  for (const side of sides) await (await serve(side)).stop();

  const starts = { cpuMs: empty(), mib: empty() };
  for (let round = 0; round < rounds; round++) {
    for (const side of inTurn(round, sides)) {
      await using server = await serve(side);
      starts.cpuMs[side.name].push(cpuSecondsOf(server.pid) * 1000);
      await delay(REST_MS);
      starts.mib[side.name].push(memoryOf(server.pid).now);
    }
  }

  const cases = REVIEW_CASES.map((item, index) => {
    const requestFile = workspace.path(`request-${index}`);
    writeRequest(requestFile, item);
    return { ...item, requestFile, cpu: empty() };
  });
  const loaded = empty();
  // What a process takes is in part its luck, and stays so for as long as it lives. Of six and six equal processes, all of one side take more than all of
  // the other one once in 924 times.
  for (let life = 0; life < Math.ceil(rounds / 2); life++) {
    await using before = await serve(sides[0] as Side);
    await using after = await serve(sides[1] as Side);
    const servers = { before, after };
    const burst = ({ name }: Side, { requestFile, expected }: (typeof cases)[number], seconds: number) => {
      const { port, pid } = servers[name];
      const caFile = join(certDir, 'ca.crt');
      return measure({ port, pid, caFile, requestFile, expected, connections: CONNECTIONS, seconds });
    };
    for (const item of cases) {
      for (const side of sides) await warmUp((seconds) => burst(side, item, seconds), 1 / cases.length);
    }
    for (const item of cases) {
      for (let round = 0; round < BURSTS; round++) {
        for (const side of inTurn(round, sides)) {
          item.cpu[side.name].push((await burst(side, item, BURST_SECONDS)).cpuSecondsPerThousand);
        }
      }
    }
    for (const { name } of sides) loaded[name].push(memoryOf(servers[name].pid).now);
  }

  const size: Values = empty();
  for (const { name, folder } of sides) size[name].push(bundleKilobytes(folder));
  const figures: readonly Figure[] = [
    ...cases.map(({ what, cpu }): Figure => ({ what, unit: 'CPU s per 1,000', digits: 3, ...cpu, isLimited: true })),
    { what: 'start, until it serves', unit: 'CPU ms', digits: 0, ...starts.cpuMs, isLimited: true },
    { what: 'memory at rest', unit: 'MiB', digits: 1, ...starts.mib, isLimited: true },
    { what: 'memory after requests', unit: 'MiB', digits: 1, ...loaded, isLimited: true },
    { what: 'bundle', unit: 'KB', digits: 0, ...size, isLimited: false },
  ];
  printHead(...HEADINGS);
  for (const figure of figures) printRow(...cellsOf(figure));
  const tooHigh = figures.filter((figure) => figure.isLimited && isHigher(figure));
  if (tooHigh.length === 0) return 0;
  process.stdout.write(
    `\nmore than ${LIMIT.toFixed(2)} times as much: ${tooHigh.map(({ what }) => what).join(', ')}\n`,
  );
  return 1;
}

function empty(): Values {
  return { before: [], after: [] };
}

function bundleKilobytes(folder: string): number {
  const files = globSync('*.cjs', { cwd: join(folder, 'dist') });
  return files.reduce((sum, file) => sum + readFileSync(join(folder, 'dist', file)).length, 0) / 1000;
}
