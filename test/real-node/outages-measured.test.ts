import { describe, expect, it } from 'vitest';
import { obstacleToHelm } from '../control-plane/helm.ts';
import { skipFor } from '../skip-for.ts';
import { measure } from './measure/measure.ts';
import { OUTAGES } from './measure/outages.ts';
import { obstacleToRealNode } from './obstacle.ts';

const PER_SECOND = 15;
/** The longest lasts for 70 s, or until kubelets show a Secret. */
const TIMEOUT_MS = 400_000;

/** Of those that measure/results.md has figures of: what no other test is about. */
const COST_NOTHING = ['evict', 'no-such-image', 'helm', 'late-secret', 'disk-full', 'cni-down'];
const COST_SOMETHING = [
  'kill-leader',
  'kill-other',
  'link-down',
  'one-way',
  'other-way',
  'leader-power-cut',
  'no-cni',
  'full-stop',
];

describe('requests on real nodes', skipFor(obstacleToRealNode() ?? obstacleToHelm()), () => {
  it.each(COST_NOTHING)(
    'are all answered rightly: %s',
    async (name) => {
      const { summary, reasons } = await measure(outage(name), PER_SECOND);
      const { failed, missed, wrong } = summary;
      expect(summary.sent).toBeGreaterThan(0);
      expect({ failed, missed, wrong, reasons }).toEqual({ failed: 0, missed: 0, wrong: 0, reasons: [] });
    },
    TIMEOUT_MS,
  );

  it.each(COST_SOMETHING)(
    'that no policy concerns do not fail because of it, and everything recovers by itself: %s',
    async (name) => {
      const { summary } = await measure(outage(name), PER_SECOND);
      expect(summary).toMatchObject({ wrong: 0 });
    },
    TIMEOUT_MS,
  );

  function outage(name: string) {
    const found = OUTAGES.find((one) => one.name === name);
    if (!found) throw new Error(`there is no outage ${name}`);
    return found;
  }
});
