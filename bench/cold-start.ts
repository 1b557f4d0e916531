import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { deployedEnvironment } from '../test/control-plane/as-deployed.ts';
import { freePorts } from '../test/control-plane/free-ports.ts';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { BUNDLE, buildBundle, type Contender, contendersOf } from './contenders.ts';
import { firstAnswer } from './endpoint/first-answer.ts';
import { measure } from './endpoint/load.ts';
import { writeRequest } from './endpoint/request-file.ts';
import { REVIEW_CASES } from './endpoint/reviews.ts';
import { printHead, printRow } from './markdown-table.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { memoryOf } from './process-memory.ts';
import { median, range } from './statistics.ts';

/**
 * From exec to the first admission, memory at rest and after many admissions, by the number of policies and by V8's semi-space,
 * and the size of the bundle. Prints Markdown tables. Linux only.
 *
 *     npx node bench/cold-start.ts [--rounds N] [--requests N] [--before FOLDER] [--node FILE ...]
 *
 * With --before, an earlier bundle (a copy of its `dist`) takes part, too; with --node, other Node.js than the one that runs this.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    requests: { type: 'string', default: '100000' },
    before: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
  },
});
const POLICIES = [1, 20, 200];
const SEMI_SPACES_MIB = [4, 16];
const REST_MS = 5_000;
const BURST_SECONDS = 5;
const CONNECTIONS = 8;

const contenders = contendersOf(flags);
const workspace = createWorkspace('bench');
const certDir = workspace.path('certs');
const requestFile = workspace.path('request');
const [review] = REVIEW_CASES;
if (!review) throw new Error('there is no review to ask');
writeRequest(requestFile, review);
buildBundle();

const kilobytes = (bytes: number) => `${Math.round(bytes / 1000).toLocaleString('en')} KB`;
printHead('file', 'size', 'with gzip');
for (const file of globSync('*.cjs', { cwd: dirname(BUNDLE) }).sort()) {
  const bytes = readFileSync(join(dirname(BUNDLE), file));
  printRow(file, kilobytes(bytes.length), kilobytes(gzipSync(bytes).length));
}
process.stdout.write('\n');

// The first start issues the certificates that all others find; the first of each contender leaves what V8 has compiled, which the image has, too.
for (const contender of contenders) {
  await using first = await start({ contender, policies: 1 });
  await first[Symbol.asyncDispose]();
}
const starts = contenders
  .flatMap((contender) => [
    ...POLICIES.map((policies) => ({ contender, policies, compiled: true })),
    { contender, policies: 1, compiled: false },
  ])
  .map((how) => ({ ...how, ms: [] as number[], cpuMs: [] as number[], mib: [] as number[] }));
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const { ms, cpuMs, mib, ...how } of starts) {
    await using server = await start(how);
    ms.push(server.answeredAfterMs);
    cpuMs.push(cpuSecondsOf(server.pid) * 1000);
    mib.push(memoryOf(server.pid).now);
  }
}
printHead('bundle', 'policies', 'compiled before', 'exec to the first answer, median', 'range', 'CPU', 'RSS then');
for (const { contender, policies, compiled, ms, cpuMs, mib } of starts) {
  const took = [`${median(ms).toFixed(0)} ms`, `${range(ms)} ms`, `${median(cpuMs).toFixed(0)} ms`];
  printRow(contender.name, String(policies), compiled ? 'yes' : 'no', ...took, `${median(mib).toFixed(0)} MiB`);
}
process.stdout.write('\n');

printHead(
  'bundle',
  'policies',
  'semi-space',
  'at rest',
  `after ${flags.requests} admissions`,
  'CPU s per 1,000',
  'p50 ms',
  'p99 ms',
);
const loads = [
  ...SEMI_SPACES_MIB.map((semiSpace) => ({ policies: 1, semiSpace })),
  ...POLICIES.slice(1).map((policies) => ({ policies, semiSpace: 4 })),
];
for (const { policies, semiSpace } of loads) {
  for (const contender of contenders) {
    await using server = await start({ contender, policies, semiSpace });
    await delay(REST_MS);
    const atRest = memoryOf(server.pid).now;
    const { port, pid } = server;
    const bursts = [];
    for (let done = 0; done < Number(flags.requests); done += bursts.at(-1)?.requests ?? 0) {
      const load = {
        port,
        pid,
        caFile: `${certDir}/ca.crt`,
        requestFile,
        connections: CONNECTIONS,
        seconds: BURST_SECONDS,
      };
      bursts.push(await measure({ ...load, expected: review.expected }));
    }
    printRow(
      contender.name,
      String(policies),
      `${semiSpace} MiB`,
      `${atRest.toFixed(0)} MiB`,
      `${memoryOf(pid).now.toFixed(0)} MiB`,
      median(bursts.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand)).toFixed(3),
      median(bursts.map(({ p50 }) => p50)).toFixed(2),
      median(bursts.map(({ p99 }) => p99)).toFixed(2),
    );
  }
}

interface StartOptions {
  readonly contender: Contender;
  readonly policies: number;
  readonly semiSpace?: number;
  readonly compiled?: boolean;
}

/** Starts a bundle as deployed, but for V8's semi-space in MiB, and waits until it has answered. */
async function start({ contender, policies, semiSpace = 4, compiled = true }: StartOptions) {
  const [port = 0] = await freePorts(1);
  const { NODE_OPTIONS, ...memory } = deployedEnvironment();
  const env = {
    ...memory,
    NODE_OPTIONS: NODE_OPTIONS.replace(/--max-semi-space-size=\d+/, `--max-semi-space-size=${semiSpace}`),
    ...(compiled ? { NODE_COMPILE_CACHE: workspace.path('compile-cache') } : {}),
  };
  const args = ['--port', String(port), '--admin-port', '0', '--cert-dir', certDir, '--policies', policyFile(policies)];
  const began = performance.now();
  const child = spawn(contender.node, [contender.program, 'serve', ...args], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  await firstAnswer({ port, request: readFileSync(requestFile), giveUp: () => child.exitCode !== null });
  return {
    port,
    pid: child.pid ?? 0,
    answeredAfterMs: performance.now() - began,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** The policy that the review is about, and so many others, all of which select its node. */
function policyFile(count: number): string {
  const folder = workspace.path(`policies-${count}`);
  mkdirSync(folder, { recursive: true });
  const documents = Array.from({ length: count }, (_, n) =>
    [
      'apiVersion: taintkeeper.dev/v1alpha1',
      'kind: TaintPolicy',
      `metadata: { name: policy-${n} }`,
      'spec:',
      '  mode: Deny',
      `  taints: [{ key: ${n === 0 ? 'example.com/dedicated' : `example.com/team-${n}`} }, { key: "team-${n}.example.com/*" }]`,
      '',
    ].join('\n'),
  );
  return workspace.write(`policies-${count}/policies.yaml`, documents.join('---\n'));
}
