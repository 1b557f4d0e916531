import { type GoModule, programName } from './go-modules.ts';

const VARIABLE = 'TAINTKEEPER_NOT_BUILT';

/**
 * Notes why a program could not be built. The note is in the environment, so that the processes in which tests run have it too, and no
 * later run believes it.
 */
export function noteNotBuilt(module: GoModule, program: string, reason: string): void {
  process.env[VARIABLE] = JSON.stringify({ ...notes(), [programName(module, program)]: reason });
}

/** Why there is no such program: `etcd 3.6.16: ` and the reason. @param command that builds it */
export function whyNotBuilt(module: GoModule, program: string, command = 'npm run control-plane:build'): string {
  const name = programName(module, program);
  return `${name}: ${notes()[name] ?? `not built; run \`${command}\``}`;
}

function notes(): Record<string, string> {
  return JSON.parse(process.env[VARIABLE] || '{}') as Record<string, string>;
}
