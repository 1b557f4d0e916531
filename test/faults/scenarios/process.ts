import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Replica } from '../../control-plane/replicas.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { leaderOf } from '../../e2e/installation.ts';
import type { Scenario } from '../measure.ts';
import { REPLICAS, type Site } from '../site.ts';

/** A kubelet starts a container that has crashed again at once, the first time. */
const RESTART_MS = 1_000;
const HELD_MS = 10_000;
const CLOCK_HELD_MS = 15_000;
const OOM_TIMEOUT_MS = 60_000;
const BURNERS = 8;

const leader = async ({ cp, installation }: Site) => installation.replica(await leaderOf(cp));
const replicas = ({ installation }: Site) => REPLICAS.map((name) => installation.replica(name));

async function killAndRestart(site: Site, victims: readonly Replica[]): Promise<void> {
  await Promise.all(victims.map((victim) => victim.kill()));
  await delay(RESTART_MS);
  await Promise.all(victims.map(({ name }) => site.restart(name)));
}

async function hang(victims: readonly Replica[]): Promise<void> {
  for (const victim of victims) victim.pause();
  await delay(HELD_MS);
  for (const victim of victims) victim.resume();
}

/** Lets it leak until V8 gives up; then as after any crash. */
async function outOfMemory(site: Site): Promise<void> {
  const victim = await leader(site);
  process.kill(victim.pid, 'SIGUSR2');
  await waitUntil(() => (victim.exit ? true : undefined), {
    timeoutMs: OOM_TIMEOUT_MS,
    otherwise: () => `${victim.name} does not run out of memory`,
  });
  await delay(RESTART_MS);
  await site.restart(victim.name);
}

/** Puts both replicas and eight loops that never rest on one core. */
async function busyNeighbours(site: Site): Promise<void> {
  const burners = Array.from({ length: BURNERS }, () =>
    spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    for (const { pid } of replicas(site)) pin(pid, '0');
    await delay(HELD_MS);
  } finally {
    for (const burner of burners) burner.kill('SIGKILL');
    for (const { pid } of replicas(site)) pin(pid, `0-${cpus().length - 1}`);
  }
}

function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { stdio: 'ignore' });
}

/** Lets clocks jump, for longer than it takes until somebody looks at the certificates' time again. */
async function clockJump(site: Site, victims: readonly Replica[], ms: number): Promise<void> {
  const jump = (by: number) => {
    writeFileSync(site.clockFile, String(by));
    for (const victim of victims) process.kill(victim.pid, 'SIGWINCH');
  };
  jump(ms);
  await delay(CLOCK_HELD_MS);
  jump(0);
}

/** A node with a wrong clock: the replica is started there while nobody else leads, and later where the time is right. */
async function startAhead(site: Site, ms: number): Promise<void> {
  const { name } = await leader(site);
  await site.installation.replica(name).kill();
  const ahead = await site.restart(name, { env: { CLOCK_AHEAD_MS: String(ms) } });
  await delay(CLOCK_HELD_MS);
  await ahead.kill();
  await site.restart(name);
}

const DAY_MS = 86_400_000;

export const processFaults: readonly Scenario[] = [
  {
    name: 'kill-leader',
    what: 'SIGKILL of the replica that leads, back after 1 s',
    run: async (site) => killAndRestart(site, [await leader(site)]),
  },
  {
    name: 'kill-both',
    what: 'SIGKILL of both replicas, back after 1 s',
    run: (site) => killAndRestart(site, replicas(site)),
  },
  {
    name: 'hang-leader',
    what: 'SIGSTOP of the replica that leads for 10 s',
    run: async (site) => hang([await leader(site)]),
  },
  { name: 'hang-both', what: 'SIGSTOP of both replicas for 10 s', run: (site) => hang(replicas(site)) },
  {
    name: 'out-of-memory',
    what: 'the replica that leads takes memory until its heap is full, back after 1 s',
    run: outOfMemory,
  },
  {
    name: 'busy-cpu',
    what: `both replicas share one core with ${BURNERS} loops that never rest, for 10 s`,
    obstacle: () => (spawnSync('taskset', ['--version']).status === 0 ? undefined : 'it takes taskset'),
    run: busyNeighbours,
  },
  ...([1, 91] as const).flatMap((days) => [
    {
      name: `clock-${days}-leader`,
      what: `the clock of the replica that leads jumps ${days} d ahead, and back after 15 s`,
      run: async (site: Site) => clockJump(site, [await leader(site)], days * DAY_MS),
    },
    {
      name: `clock-${days}-both`,
      what: `the clocks of both replicas jump ${days} d ahead, and back after 15 s`,
      run: (site: Site) => clockJump(site, replicas(site), days * DAY_MS),
    },
    {
      name: `clock-${days}-start`,
      what: `the replica that leads is killed, and runs for 15 s on a machine whose clock is ${days} d ahead`,
      run: (site: Site) => startAhead(site, days * DAY_MS),
    },
  ]),
];
