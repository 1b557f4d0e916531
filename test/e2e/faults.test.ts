import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAssets, obstacleTo } from '../control-plane/assets.ts';
import { measure } from '../faults/measure.ts';
import { runMonkey } from '../faults/monkey.ts';
import { SCENARIOS } from '../faults/scenarios.ts';
import { type Site, startSite } from '../faults/site.ts';
import { rowOf } from '../faults/table.ts';
import { startTraffic, type Traffic } from '../faults/traffic.ts';
import { seed } from '../seed.ts';
import { skipFor } from '../skip-for.ts';
import { readCertificates } from './installation.ts';

/** Short ones, each of a kind of its own. All are in `npm run faults`. */
const CHOSEN = ['hang-both', 'clock-91-both', 'kill-control-plane', 'reset-api-server-to-webhook'];

const MONKEY_STEPS = 30;
/** The machine that runs the tests may be slow: what is left then stays undone. */
const MONKEY_MS = 20_000;
const MONKEY_TIMEOUT_MS = 300_000;
/** With this seed the first nine steps are all different, none of the slow ones is among them, and policies are spoiled early. */
const MONKEY_SEED = 606;

describe('under 20 requests a second', skipFor(obstacleTo([], findAssets())), () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(() => site?.stop());

  describe('each outcome of which is counted', () => {
    let traffic: Traffic;
    beforeAll(() => {
      traffic = startTraffic(site);
    });
    afterAll(() => traffic?.stop());

    it.each(SCENARIOS.filter(({ name }) => CHOSEN.includes(name)))('$name: $what', async (scenario) => {
      const before = await readCertificates(site.cp);
      const measured = await measure(scenario, site, traffic);
      expect((await readCertificates(site.cp)).data).toEqual(before.data);
      process.stderr.write(`${rowOf(measured)}\n`);
      expect(measured.wrong.map(({ kind, why }) => `${kind}: ${why}`)).toEqual([]);
      expect(measured.losses.unreported).toEqual([]);
      expect(measured.counts.admitted).toBeGreaterThan(0);
      expect(measured.counts.refused).toBeGreaterThan(0);
    });
  });

  it(
    'a monkey does harm by hand in random order: each lost taint or toleration is restored or reported',
    async () => {
      const until = performance.now() + MONKEY_MS;
      const chosen = seed(MONKEY_SEED);
      const report = await runMonkey(site, { seed: chosen, steps: MONKEY_STEPS, until });
      process.stderr.write(`${report.summary}\n`);
      expect(report, `TAINTKEEPER_SEED=${chosen}`).toMatchObject({ wrong: 0, unreported: [] });
      expect(report.steps).toBeGreaterThan(1);
    },
    MONKEY_TIMEOUT_MS,
  );
});
