import { ADMISSION } from './admission.ts';
import { COMMAND_LINES } from './command-lines.ts';
import { POLICIES } from './policies.ts';
import { TALOS } from './talos.ts';

/** Everything that takes input from outside. */
export const TARGETS = [...ADMISSION, ...POLICIES, ...TALOS, ...COMMAND_LINES];
