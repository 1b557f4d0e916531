import { pino } from 'pino';
import { eventsOf } from '../src/admission/request-events.ts';
import { issueCa, issueServing } from '../src/certs/issue.ts';
import type { ApiClient } from '../src/cluster/client/api-client.ts';
import { createDecisionLog } from '../src/page/decision-log.ts';
import { compilePolicies } from '../src/policy/policy-set.ts';
import { policyWarnings } from '../src/replica/apply-warnings/policy-warnings.ts';
import { warningRoute } from '../src/replica/apply-warnings/warning-route.ts';
import { createMetrics } from '../src/replica/metrics.ts';
import { createAdmissionServer } from '../src/server/admission-server.ts';
import { HOSTILE_BODIES, MANY_NODES } from '../test/unit/server/hostile-bodies.ts';
import { hostilePolicies } from './hostile-policies.ts';
import { printHead, printRow } from './markdown-table.ts';
import { median } from './statistics.ts';

/**
 * For how long one review blocks a replica that is made to take long: CPU time of the main thread, from the whole body in memory to the bytes
 * of the answer, with the log, the Events and the page's records. Every policy selects every node and every DaemonSet. Prints a Markdown
 * table, the medians and the most of some rounds.
 *
 *     npx node bench/hostile-bodies.ts [--only TEXT]
 */
const ROUNDS = 5;
const SLEEP = new Int32Array(new SharedArrayBuffer(4));
const POLICIES = [100, 200];
const only = process.argv[process.argv.indexOf('--only') + 1] ?? '';
const isOnly = process.argv.includes('--only');

const tls = await issueServing(await issueCa(new Date()), ['localhost'], new Date());

printHead('body', 'size', ...POLICIES.map((count) => `${count} policies`));
for (const { what, path, body } of HOSTILE_BODIES) {
  if (isOnly && !what.includes(only)) continue;
  const bytes = Buffer.from(body());
  const cells = [];
  for (const count of POLICIES) cells.push(await measured(path, bytes, count));
  printRow(what, `${(bytes.length / 1e6).toFixed(1)} MB`, ...cells);
}

async function measured(path: string, bytes: Buffer, count: number): Promise<string> {
  const inForce = hostilePolicies(count);
  const policies = compilePolicies(inForce);
  const log = pino({ level: 'info' }, { write: () => {} });
  const decisions = createDecisionLog({ replica: 'bench' });
  const server = createAdmissionServer({
    tls,
    policies: () => policies,
    metrics: createMetrics('bench'),
    log,
    onJudged(judged) {
      eventsOf(judged.request, judged.judgement);
      decisions.record(judged);
    },
  });
  const clusterState = () => ({ isSynced: () => true, nodes: () => MANY_NODES as never });
  // No body needs more of it.
  const client = { now: () => new Date() } as ApiClient;
  const service = { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 };
  server.post(
    '/warn',
    warningRoute(
      policyWarnings({
        client,
        service,
        clusterState,
        policies: () => ({ policies: inForce, compiled: policies }),
        isComplete: () => true,
        log,
      }),
    ),
  );
  const samples: number[] = [];
  const statuses = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    const payload = Buffer.from(bytes);
    const before = cpuUsage();
    const headers = { 'content-type': 'application/json' };
    const { statusCode } = await server.inject({ method: 'POST', url: path, payload, headers });
    const { user, system } = cpuUsage(before);
    if (statusCode >= 500) throw new Error(`${path} answered ${statusCode}`);
    samples.push((user + system) / 1_000);
    statuses.add(statusCode);
    if (Math.max(...samples) > 3_000) break;
  }
  await server.close();
  return `${median(samples).toFixed(0)} ms, at most ${Math.max(...samples).toFixed(0)} (${[...statuses].join()})`;
}

/** Of the main thread. The kernel counts it in ticks of 4 ms, and when the thread sleeps. */
function cpuUsage(before?: NodeJS.CpuUsage): NodeJS.CpuUsage {
  Atomics.wait(SLEEP, 0, 0, 1);
  return process.threadCpuUsage(before);
}
