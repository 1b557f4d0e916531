import { join } from 'node:path';

/** Told by whoever runs the tests: `npm test` has them start the bundle, as it is shipped. */
export const PROGRAM_VARIABLE = 'TAINTKEEPER_TEST_PROGRAM';

/** What tests start as `taintkeeper`: the source, unless they are told of another. */
export const PROGRAM = process.env[PROGRAM_VARIABLE] || join(import.meta.dirname, '..', '..', 'bin', 'taintkeeper.js');
