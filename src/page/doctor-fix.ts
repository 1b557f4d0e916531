import type { Fix } from './state.ts';

/** The command that finds problems of the installation. */
export const DOCTOR: Fix = { command: 'taintkeeper doctor', note: 'Says why, and the command that repairs it.' };
