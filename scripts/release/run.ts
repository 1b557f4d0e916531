import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Runs a program to its end.
 * @returns what it printed to standard output
 * @throws Error with all that it printed when it fails
 */
export function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): string {
  try {
    return execFileSync(program, args, {
      cwd: ROOT,
      ...options,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
      maxBuffer: 64 * 2 ** 20,
    });
  } catch (error) {
    const { status, stdout = '', stderr = '' } = error as { status?: number; stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} ended with ${status ?? error}\n${stdout}${stderr}`);
  }
}
