import { execFileSync, spawnSync } from 'node:child_process';
import { skipFor } from '../../skip-for.ts';

/** The options of tests that run it. */
export const needsOpenssl = skipFor(spawnSync('openssl', ['version']).status === 0 ? undefined : 'there is no openssl');

/** What openssl prints; throws with its error output if it fails. */
export function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
