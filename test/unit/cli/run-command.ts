import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { main } from '../../../src/cli/main.ts';

export const PROGRAM = fileURLToPath(new URL('../../../bin/taintkeeper.js', import.meta.url));

/** What a command printed, and what it ended with. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in this process. */
export async function run(...args: string[]): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      printed[stream] += chunk;
      return true;
    }),
  );
  try {
    return { code: await main(args), ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** The same, with the text on its standard input. */
export async function runWithInput(stdin: string, ...args: string[]): Promise<Outcome> {
  const input = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([Buffer.from(stdin)]) as never);
  try {
    return await run(...args);
  } finally {
    input.mockRestore();
  }
}

/** Runs the command line as a process of its own, with the text on its standard input. */
export function runProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Outcome> {
  return runNode([PROGRAM, ...args], options);
}

/** Runs a text as a module, in a process of its own. */
export function runScript(script: string, options: ProcessOptions = {}): Promise<Outcome> {
  return runNode(['--input-type=module', '--eval', script], options);
}

interface ProcessOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function runNode(args: readonly string[], { stdin = '', env = {} }: ProcessOptions): Promise<Outcome> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end(stdin);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
