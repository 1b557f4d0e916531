import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MERGE_PATCH } from '../test/control-plane/content-types.ts';
import { startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { admin } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { path } from '../test/e2e/nodes.ts';
import {
  LABEL,
  manifestContender,
  NONE,
  registeredContender,
  registerOf,
  webhookContender,
} from './api-server/contender.ts';
import { isInForce, removeDaemonSets, type Target, WRITES, type Write } from './api-server/writes.ts';
import { createNodes } from './large-nodes.ts';
import { printHead, printRow } from './markdown-table.ts';
import { CONTROLLER_RUNTIME, FLOOR, OURS, startContestants } from './peers/contestants.ts';
import { forEach } from './side-by-side.ts';
import { median, percentile } from './statistics.ts';

/**
 * How much longer writes take through a real API server with something in their way, at one client and at sixteen. All are
 * registered at once, each for objects of its own; rounds are short and interleaved. Prints a Markdown table, and another one of what the
 * conditions took by the API server's own metric.
 *
 *     npx node bench/api-server.ts [--rounds N] [--clients N ...] [--before DIR]
 *
 * `--before` adds what the sources of an earlier commit would register, in front of the same server: `git worktree add DIR COMMIT`.
 */
const WRITES_PER_BURST = 32;
/** Of each client: fewer would show how they begin, not how they wait for each other. */
const LEAST_WRITES = 10;
const EFFECT_TIMEOUT_MS = 30_000;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '25' },
    clients: { type: 'string', multiple: true, default: ['1', '16'] },
    before: { type: 'string' },
  },
});
const clientCounts = flags.clients.map(Number);
const mostClients = Math.max(...clientCounts);

await provideOrExit();
await using contestants = await startContestants();
await using cp = await startControlPlane();
const caBundle = readFileSync(contestants.caFile).toString('base64');
const webhook = (name: string) => {
  const found = contestants.all.find((contestant) => contestant.name === name);
  if (!found) throw new Error(`${name} does not run`);
  return found;
};
const contenders = [
  NONE,
  await registeredContender(webhook(OURS), 'registered', caBundle),
  ...(flags.before === undefined
    ? []
    : [await registeredContender(webhook(OURS), 'before', caBundle, await registerOf(flags.before))]),
  webhookContender(webhook(OURS), 'ours', caBundle),
  webhookContender(webhook(FLOOR), 'floor', caBundle),
  webhookContender(webhook(CONTROLLER_RUNTIME), 'controller-runtime', caBundle),
  manifestContender("the API server's own CEL", 'native', join(import.meta.dirname, 'peers', 'native.yaml')),
];

const names = await createNodes(cp, 2 * contenders.length * mostClients);
const others = names.splice(contenders.length * mostClients);
const targets = new Map(
  contenders.map(({ label }, index): [string, Target[]] => [
    label,
    names
      .slice(index * mostClients, (index + 1) * mostClients)
      .map((node) => ({ cp, node, other: others.pop() ?? '', label })),
  ]),
);
for (const { node, other, label } of [...targets.values()].flat()) {
  await mark(node, { [LABEL]: label });
  await mark(other, { [LABEL]: label, 'example.com/pool': 'elsewhere' });
}
for (const { label, manifests } of contenders) {
  if (manifests.length > 0) await register(label, manifests);
}

const rows = WRITES.flatMap((write) =>
  clientCounts.map((clients) => ({
    write,
    clients,
    latencies: new Map(contenders.map(({ label }) => [label, [] as number[][]])),
  })),
);
const serials = new Map<Target, number>();
/** Of each webhook with conditions, by operation: what they took in all, in seconds, and how often. */
const CONDITIONS = /^apiserver_admission_match_condition_evaluation_seconds_(sum|count)\{(.*)\} (\S+)$/gm;
// The first round warms up, and does not count.
for (let round = 0; round <= Number(flags.rounds); round++) {
  for (const { write, clients, latencies } of rows) {
    for (const [label, rounds] of latencies) {
      const taken = await burst(
        write,
        (targets.get(label) ?? []).slice(0, clients),
        Math.max(LEAST_WRITES, WRITES_PER_BURST / clients),
      );
      if (round > 0) rounds.push(taken);
    }
  }
  await removeDaemonSets(cp);
}

printHead('write', 'clients', 'in its way', 'p50 ms', 'added at p50', 'ratio', 'p99 ms', 'added at p99');
for (const { write, clients, latencies } of rows) {
  const none = latencies.get(NONE.label) ?? [];
  const [p50OfNone, p99OfNone] = [median(none.map(median)), percentile(none.flat(), 0.99)];
  for (const { name, label } of contenders) {
    const rounds = latencies.get(label) ?? [];
    const p99 = percentile(rounds.flat(), 0.99);
    // Of one round each: what else the machine does weighs on both alike.
    const added = median(rounds.map((taken, round) => median(taken) - median(none[round] ?? [])));
    printRow(
      write.what,
      String(clients),
      name,
      median(rounds.map(median)).toFixed(2),
      added.toFixed(2),
      ((p50OfNone + added) / p50OfNone).toFixed(2),
      p99.toFixed(1),
      (p99 - p99OfNone).toFixed(1),
    );
  }
}

const conditions = new Map<string, { sum?: number; count?: number }>();
const { body: metrics } = await cp.request<string>(admin, 'GET', '/metrics');
for (const [, what = '', labels = '', value] of metrics.matchAll(CONDITIONS)) {
  const [name, operation] = ['name', 'operation'].map((label) => new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1]);
  const key = `${name} | ${operation}`;
  conditions.set(key, { ...conditions.get(key), [what]: Number(value) });
}
process.stdout.write('\n');
printHead('conditions', 'operation', 'evaluations', 'mean ms');
for (const [key, { sum = 0, count = 0 }] of conditions) {
  const [name = '', operation = ''] = key.split(' | ');
  printRow(name, operation, String(count), ((1_000 * sum) / count).toFixed(3));
}

async function mark(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const body = { metadata: { labels } };
  await succeeded(cp.request(admin, 'PATCH', path(node), { body, contentType: MERGE_PATCH }));
}

/** Applies the manifests, and returns once the API server goes by them. */
async function register(label: string, manifests: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  const { code, stderr } = await cp.kubectl(['apply', '-f', '-'], { input });
  if (code !== 0) throw new Error(stderr);
  const [target] = targets.get(label) ?? [];
  if (!target) throw new Error(`there is no node for ${label}`);
  await waitUntil(async () => ((await isInForce(target)) ? true : undefined), {
    timeoutMs: EFFECT_TIMEOUT_MS,
    otherwise: () => `${label} is not in force within ${EFFECT_TIMEOUT_MS / 1000} s`,
  });
}

/** The milliseconds that each write took. */
async function burst(write: Write, targets: readonly Target[], count: number): Promise<number[]> {
  const taken: number[] = [];
  await forEach(targets, targets.length, async (target) => {
    for (let n = 0; n < count; n++) {
      const serial = (serials.get(target) ?? 0) + 1;
      serials.set(target, serial);
      const began = performance.now();
      await write.send(target, serial);
      taken.push(performance.now() - began);
    }
  });
  return taken;
}
