import { ADMISSION } from './admission.ts';
import { COMMAND_LINES } from './command-lines.ts';
import { FORGED_REVIEWS } from './forged-reviews.ts';
import { LARGE_BODIES } from './large-bodies.ts';
import { PATCHES } from './patches.ts';
import { POLICIES } from './policies.ts';
import { TALOS } from './talos.ts';

/** Everything that takes input from outside. */
export const TARGETS = [
  ...ADMISSION,
  ...FORGED_REVIEWS,
  ...LARGE_BODIES,
  ...PATCHES,
  ...POLICIES,
  ...TALOS,
  ...COMMAND_LINES,
];
