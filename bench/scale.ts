import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { deployedEnvironment, deployedProbe } from '../test/control-plane/as-deployed.ts';
import type { AuditEvent } from '../test/control-plane/audit-log.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { type Replica, taintkeeperAccount } from '../test/control-plane/replicas.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { admin, developer } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { type Installation, install } from '../test/e2e/installation.ts';
import { policyObject } from '../test/e2e/policy-objects.ts';
import { createPolicy, POLICIES_PATH } from '../test/e2e/policy-resources.ts';
import { auditedRequests, summaryOf } from './audited-requests.ts';
import { BUNDLE, buildBundle } from './contenders.ts';
import { POOL, TAINT } from './large-node.ts';
import { createDaemonSets, createNodes, setTaints, survey } from './large-nodes.ts';
import { forgetPeak, memoryOf } from './process-memory.ts';
import { createRows, printHeadings } from './rows.ts';
import { type Stopwatch, stopwatch } from './stopwatch.ts';

/**
 * What it costs the leader to keep the taints of many large nodes, and how soon they are back after all of them were taken
 * away with the webhook out of reach. Beside it stands what the same API server takes for the same writes from a bare loop.
 * Prints the rows of a Markdown table. Linux only.
 *
 *     npx node bench/scale.ts [--kubelets] [--rounds N] [--rest] [--before FOLDER] [NODES ...]
 *
 * With --kubelets, controller manager, scheduler and kubelets run besides, and every node has its heartbeat. With --rest, no taints
 * are taken away: only a start and a minute after it are looked at, with --before those of an earlier bundle (a copy of its `dist`), too.
 */
const NODE_COUNTS = [1_000, 5_000];
const DAEMON_SETS = 20;

/** The bare loop has as many requests on their way as the leader's repairs (src/controllers/nodes/node-repair.ts). */
const REPAIR_CONCURRENCY = 8;
const QUEUE = /^taintkeeper_queue_depth\{controller="node-repair"\} (\S+)$/m;
const SWEEP = /^taintkeeper_sweep_timestamp_seconds\{controller="node-repair"\} (\S+)$/m;
const READY_TIMEOUT_MS = 600_000;
const SWEEP_TIMEOUT_MS = 300_000;
const REPAIR_TIMEOUT_MS = 1_800_000;
/** How exactly the durations are measured. */
const POLL_MS = 50;

/** How long nothing happens before what is in memory counts as that at rest. */
const REST_MS = 60_000;

/** With kubelets, a heartbeat comes each quarter of this. Two cores do not keep up with those of 5,000 nodes at the usual pace. */
const NODE_MONITOR_GRACE_SECONDS = 600;

const REPLICA = 'a';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kubelets: { type: 'boolean' },
    rounds: { type: 'string', default: '3' },
    rest: { type: 'boolean' },
    before: { type: 'string' },
  },
});
const components = flags.kubelets ? (['kube-controller-manager', 'kube-scheduler', 'kubelets'] as const) : [];
const rounds = Number(flags.rounds);
const counts = positionals.length > 0 ? positionals.map(Number) : NODE_COUNTS;

await provideOrExit(components);
buildBundle();
printHeadings();
for (const count of counts) await measure(count);

async function measure(count: number): Promise<void> {
  await using cp = await startControlPlane({
    auditPolicy: join(import.meta.dirname, 'scale-audit-policy.yaml'),
    nodeMonitorGraceSeconds: NODE_MONITOR_GRACE_SECONDS,
    components,
  });
  const names = await createNodes(cp, count);
  await createDaemonSets(cp, DAEMON_SETS);
  if (flags.kubelets) await ready(cp);
  const { bytes } = await survey(cp);
  const rows = createRows(`${count.toLocaleString('en')} of ${(bytes / 1000).toFixed(1)} KB`);
  const requests = auditedRequests(cp.auditFile, taintkeeperAccount);
  const installation = await install(cp, [], { probe: deployedProbe() });
  try {
    await protect(cp);
    await firstStart();
    // Interleaved. The earlier versions of so many large objects would soon be more than the 2 GiB that etcd takes.
    for (let round = 0; round < rounds; round++) {
      await cp.compactEtcd();
      if (flags.before) await atRest('before: ', join(flags.before, 'taintkeeper.cjs'));
      await atRest();
      if (flags.rest) continue;
      const bare = await bareLoop();
      await cp.compactEtcd();
      await wipedBefore(bare.restored);
      await cp.compactEtcd();
      await wipedWhileRunning(bare.wipe + bare.restored);
    }
  } finally {
    await installation.stop();
  }
  rows.print();

  async function firstStart(): Promise<void> {
    const start = stopwatch();
    const replica = await startLeader(installation);
    await firstSweep(replica);
    await queueEmpty(replica);
    report('first start to nothing left to do', start, replica);
    withdraw(installation);
    await replica.stop();
  }

  async function atRest(title = '', program = BUNDLE): Promise<void> {
    const start = stopwatch();
    const replica = await startLeader(installation, program);
    await firstSweep(replica);
    report(`${title}start to the first sweep`, start, replica);
    forgetPeak(replica.pid);
    const rest = stopwatch();
    await delay(REST_MS);
    report(`${title}at rest`, rest, replica);
    withdraw(installation);
    await replica.stop();
  }

  /** How long the API server takes when nothing else is done, in seconds. */
  async function bareLoop(): Promise<{ wipe: number; restored: number }> {
    const wiping = stopwatch();
    await setTaints(cp, names, { user: admin, taints: [] });
    const wipe = wiping.seconds();
    rows.add('bare loop: all wiped', { seconds: wipe });
    const puttingBack = stopwatch();
    await setTaints(cp, names, { user: developer, taints: [TAINT], concurrency: REPAIR_CONCURRENCY });
    const restored = puttingBack.seconds();
    rows.add('bare loop: all put back', { seconds: restored });
    return { wipe, restored };
  }

  async function wipedBefore(bareSeconds: number): Promise<void> {
    await setTaints(cp, names, { user: admin, taints: [] });
    const start = stopwatch();
    const replica = await startLeader(installation);
    await allWritten(count, () => requests.since(start.at));
    report('all wiped before; start to all repaired', start, replica, bareSeconds);
    await confirmRepairs(cp);
  }

  async function wipedWhileRunning(bareSeconds: number): Promise<void> {
    const replica = installation.replica(REPLICA);
    withdraw(installation);
    forgetPeak(replica.pid);
    const wiping = stopwatch();
    await setTaints(cp, names, { user: admin, taints: [] });
    await allWritten(count, () => requests.since(wiping.at));
    report('first one wiped to all repaired', wiping, replica, bareSeconds);
    await confirmRepairs(cp);
    await replica.stop();
  }

  function report(what: string, since: Stopwatch, replica: Replica, bareSeconds?: number): void {
    const measured = {
      seconds: since.seconds(),
      memory: memoryOf(replica.pid),
      requests: summaryOf(requests.since(since.at)),
    };
    rows.add(what, bareSeconds === undefined ? measured : { ...measured, bareSeconds });
  }
}

/** Waits until the controller manager is through with the new nodes. */
async function ready(cp: ControlPlane): Promise<void> {
  await waitUntil(async () => ((await survey(cp)).notReady === 0 ? true : undefined), {
    timeoutMs: READY_TIMEOUT_MS,
    otherwise: () => `there were nodes not ready after ${READY_TIMEOUT_MS / 1000} s`,
  });
}

/** A policy by which every node of the pool must have the taint, though nothing waits for taintkeeper. */
async function protect(cp: ControlPlane): Promise<void> {
  const taints = [{ ...TAINT, ensure: 'Always' }];
  const spec = { mode: 'Restore', failurePolicy: 'Ignore', nodeSelector: { matchLabels: POOL }, taints };
  const policy = policyObject('TaintPolicy', 'workers', spec);
  await succeeded(
    waitUntil(
      async () => {
        const answer = await createPolicy(cp, policy);
        return answer.status === 404 ? undefined : answer;
      },
      { timeoutMs: 30_000, otherwise: () => `${POLICIES_PATH.TaintPolicy} is not served` },
    ),
  );
}

/** Starts a bundle with V8 as the Deployment sets it up. */
async function startLeader(installation: Installation, program = BUNDLE): Promise<Replica> {
  const [replica] = await installation.start([REPLICA], { program, env: deployedEnvironment() });
  if (!replica) throw new Error('no replica was started');
  return replica;
}

/** Takes the replica's webhook away from the API server. What the replica asks on its own is as ever. */
function withdraw({ proxy }: Installation): void {
  proxy.remove(REPLICA);
  proxy.reset();
}

/** Waits until the leader has looked at all nodes. */
async function firstSweep(replica: Replica): Promise<void> {
  await waitUntil(async () => (Number(SWEEP.exec(await replica.metrics())?.[1]) > 0 ? true : undefined), {
    timeoutMs: SWEEP_TIMEOUT_MS,
    intervalMs: POLL_MS,
    otherwise: () => `no sweep within ${SWEEP_TIMEOUT_MS / 1000} s`,
  });
}

/** Waits until it has done all that the sweep found. */
async function queueEmpty(replica: Replica): Promise<void> {
  await waitUntil(async () => (Number(QUEUE.exec(await replica.metrics())?.[1]) === 0 ? true : undefined), {
    timeoutMs: REPAIR_TIMEOUT_MS,
    intervalMs: POLL_MS,
    otherwise: () => `there was work left after ${REPAIR_TIMEOUT_MS / 1000} s`,
  });
}

/**
 * Waits until taintkeeper has written every node. The audit log says so at no cost to the API server; what the nodes are like
 * is looked at when the time is taken.
 */
async function allWritten(count: number, requests: () => readonly AuditEvent[]): Promise<void> {
  const written = () =>
    new Set(
      requests()
        .filter(({ verb, responseStatus }) => /^(patch|update)$/.test(verb) && responseStatus?.code === 200)
        .flatMap(({ objectRef }) => (objectRef?.resource === 'nodes' ? [objectRef.name] : [])),
    ).size;
  await waitUntil(() => (written() === count ? true : undefined), {
    timeoutMs: REPAIR_TIMEOUT_MS,
    intervalMs: POLL_MS,
    otherwise: () => `${written()} of ${count} nodes were repaired within ${REPAIR_TIMEOUT_MS / 1000} s`,
  });
}

/** @throws Error when there is a node without its taint */
async function confirmRepairs(cp: ControlPlane): Promise<void> {
  const { count, tainted } = await survey(cp);
  if (tainted < count) throw new Error(`${count - tainted} nodes were written, and yet lack their taint`);
}
