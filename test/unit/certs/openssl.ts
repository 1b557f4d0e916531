import { execFileSync, spawnSync } from 'node:child_process';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** What openssl prints; throws with its error output if it fails. */
export function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
