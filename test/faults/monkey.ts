import { HARMS, type Harm } from './by-hand.ts';
import { settleLosses } from './losses.ts';
import { seededRandom } from './random.ts';
import type { Site } from './site.ts';
import { countReasons, countResults } from './tally.ts';
import { startTraffic } from './traffic.ts';

/** How much less often a harm is done that takes long to get over. */
const RARITY = 8;

export interface MonkeyOptions {
  /** The same seed does the same things in the same order. */
  readonly seed: number;
  readonly steps: number;
  /** No step begins after that, if given. By performance.now(). */
  readonly until?: number;
  readonly say?: (line: string) => void;
}

export interface MonkeyReport {
  readonly steps: number;
  readonly wrong: number;
  /** Of what was lost nobody was told. */
  readonly unreported: readonly string[];
  readonly summary: string;
}

/**
 * Does harm by hand in random order, under traffic, and waits after each step until all is as it should be.
 * @throws Error that names seed and step when it does not become so
 */
export async function runMonkey(site: Site, options: MonkeyOptions): Promise<MonkeyReport> {
  const { seed, steps, until = Number.POSITIVE_INFINITY, say = () => {} } = options;
  const random = seededRandom(seed);
  const traffic = startTraffic(site);
  const totals = { admitted: 0, refused: 0, missed: 0, failed: 0, wrong: 0 };
  const reasons = new Map<string, number>();
  const times: number[] = [];
  const unreported: string[] = [];
  const fates = { restored: 0, reported: 0 };
  let step = 0;
  try {
    say(`seed ${seed}, ${steps} steps`);
    while (step < steps && performance.now() < until) {
      step++;
      const { name, harm } = pick(random);
      await traffic.forget();
      const began = performance.now();
      try {
        await harm(site);
        await site.settle();
      } catch (error) {
        throw new Error(`seed ${seed}, step ${step}, ${name}: ${(error as Error).message}`);
      }
      const tookMs = performance.now() - began;
      times.push(tookMs);
      const losses = await settleLosses(site, traffic);
      fates.restored += losses.restored;
      fates.reported += losses.reported;
      unreported.push(...losses.unreported);
      const counts = countResults(traffic.samples());
      for (const [result, count] of Object.entries(counts)) totals[result as keyof typeof totals] += count;
      for (const [reason, count] of countReasons(traffic.samples()))
        reasons.set(reason, (reasons.get(reason) ?? 0) + count);
      const lost = losses.unreported.length > 0 ? `, NOT TOLD OF: ${losses.unreported.join(', ')}` : '';
      say(`${step} ${name}: ${(tookMs / 1000).toFixed(1)} s, ${JSON.stringify(counts)}${lost}`);
    }
  } finally {
    await traffic.stop();
  }
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => `${((sorted[Math.floor((sorted.length - 1) * part)] ?? 0) / 1000).toFixed(1)} s`;
  const summary = [
    `seed ${seed}, ${step} steps: ${JSON.stringify(totals)}`,
    `lost: ${fates.restored} put back, ${fates.reported} told of, ${unreported.length} neither`,
    `everything restored after ${at(0.5)} (median), ${at(0.95)} (95 %), ${at(1)} (longest)`,
    ...[...reasons].map(([reason, count]) => `${count} × ${reason}`),
  ].join('\n');
  return { steps: step, wrong: totals.wrong, unreported, summary };
}

function pick(random: () => number): Harm {
  const weighted = HARMS.flatMap((harm) => Array<Harm>(harm.rare ? 1 : RARITY).fill(harm));
  return weighted[Math.floor(random() * weighted.length)] as Harm;
}
