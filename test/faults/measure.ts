import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Losses, settleLosses } from './losses.ts';
import type { Site } from './site.ts';
import { type Counts, countReasons, countResults, recoveredAfterMs, type Sample } from './tally.ts';
import type { Traffic } from './traffic.ts';

const RECOVERY_TIMEOUT_MS = 120_000;
/** Requests are counted for so long after the fault at least: what comes late must be seen. */
const OBSERVED_MS = 5_000;

/** One thing that goes wrong. */
export interface Scenario {
  readonly name: string;
  /** What is done, for the table. */
  readonly what: string;
  /** Why it cannot be done on this machine, if it cannot. */
  readonly obstacle?: () => string | undefined;
  /** Does the harm, waits for as long as it lasts, and ends it. What never ends (a crash) is over at once. */
  run(site: Site): Promise<void>;
}

export interface Measured {
  readonly scenario: Scenario;
  readonly faultMs: number;
  /** From the beginning of the fault until all was as it should be, and 5 s after its end at least. */
  readonly counts: Counts;
  readonly reasons: readonly [string, number][];
  readonly unsent: number;
  readonly losses: Losses;
  /** From the end of the fault until requests ended rightly again. */
  readonly recoveredMs: number;
  /** From the end of the fault until webhooks, certificates, leader and nodes were as they should be. */
  readonly settledMs: number;
  readonly wrong: readonly Sample[];
}

/** Lets a fault happen under traffic, counts how every request ended, and waits until all is well. */
export async function measure(scenario: Scenario, site: Site, traffic: Traffic): Promise<Measured> {
  await traffic.forget();
  const began = performance.now();
  await scenario.run(site);
  const ended = performance.now();
  const recovered = waitUntil(() => recoveredAfterMs(traffic.samples(), ended), {
    timeoutMs: RECOVERY_TIMEOUT_MS,
    otherwise: () => `${scenario.name}: ${JSON.stringify(countReasons(traffic.samples()))}`,
  });
  const settled = site.settle().then(() => performance.now() - ended);
  const [recoveredMs, settledMs] = await Promise.all([recovered, settled, delay(OBSERVED_MS)]);
  const samples = traffic.samples().filter(({ endedAt }) => endedAt >= began);
  const losses = await settleLosses(site, traffic);
  return {
    scenario,
    faultMs: ended - began,
    counts: countResults(samples),
    reasons: countReasons(samples),
    unsent: traffic.unsent(),
    losses,
    recoveredMs,
    settledMs,
    wrong: samples.filter(({ result }) => result === 'wrong'),
  };
}
