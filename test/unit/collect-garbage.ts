import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Runs V8's garbage collector to its end. */
export const collectGarbage = runInNewContext('gc') as () => void;
