import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onExit } from '../on-exit.ts';
import type { Workspace } from '../workspace.ts';

/** What one run of `go` has said. */
export interface GoResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The `go` command with a module cache of its own, which is empty at first. So what it finds is what the registry serves
 * now: in a used cache there are versions that have been lost since.
 */
export interface Go {
  /**
   * Runs it to its end. A failure is a result.
   *
   * @param folder of the module that it is about, if it is about one
   * @throws Error when it is ended by a signal
   */
  run(args: readonly string[], folder?: string): Promise<GoResult>;
}

/**
 * @param workspace where the caches are: some 3 GB when all our modules are in
 * @throws Error when there is no `go`, or it may not ask any registry
 */
export async function startGo(workspace: Workspace): Promise<Go> {
  const elsewhere = workspace.path('.');
  const asked = await runGo(['env', '-json', 'GOPROXY', 'GOFLAGS'], elsewhere, process.env).catch((error) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new Error('Go is not installed; install it first')
      : error;
  });
  if (asked.code !== 0) throw new Error(`\`go env\`: ${asked.stderr.trim()}`);
  const { GOPROXY, GOFLAGS } = JSON.parse(asked.stdout) as { GOPROXY: string; GOFLAGS: string };
  if (GOPROXY === 'off') throw new Error('GOPROXY=off: no registry may be asked');
  const env = {
    ...process.env,
    GOMODCACHE: workspace.path('modules'),
    // `go list` remembers here what it has read in the module cache.
    GOCACHE: workspace.path('build'),
    // Without it the module cache is read-only, and so cannot be removed.
    GOFLAGS: `${GOFLAGS} -modcacherw`.trim(),
    GOWORK: 'off',
    // As build.ts has it. It decides which files are read, and so which modules are needed.
    CGO_ENABLED: '0',
  };
  return { run: (args, folder = elsewhere) => runGo(args, folder, env) };
}

async function runGo(args: readonly string[], folder: string, env: NodeJS.ProcessEnv): Promise<GoResult> {
  const child = spawn('go', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  // At once: it writes to folders that are removed next.
  const forget = onExit(() => child.kill('SIGKILL'));
  try {
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    ]);
    if (code === null) throw new Error(`\`go ${args[0]}\` was ended by ${signal}`);
    return { code, stdout, stderr };
  } finally {
    forget();
  }
}

/** The objects that `go … -json` prints one after the other. */
export function parseObjects<T>(output: string): T[] {
  return JSON.parse(`[${output.trim().replaceAll(/^}\n\{/gm, '},\n{')}]`) as T[];
}
