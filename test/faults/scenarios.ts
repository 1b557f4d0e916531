import type { Scenario } from './measure.ts';
import { handMadeFaults } from './scenarios/by-hand.ts';
import { controlPlaneFaults } from './scenarios/control-plane.ts';
import { networkFaults } from './scenarios/network.ts';
import { packetFaults } from './scenarios/packets.ts';
import { processFaults } from './scenarios/process.ts';

/** All of them, in the order of the table. */
export const SCENARIOS: readonly Scenario[] = [
  ...processFaults,
  ...controlPlaneFaults,
  ...networkFaults,
  ...packetFaults,
  ...handMadeFaults,
];
