import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { onExit } from './on-exit.ts';

const TAIL_LINES = 20;

/** How a process ended: with an exit code, or by a signal. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** A process that we started. It never outlives us, and all it prints is in one file. */
export interface Supervised {
  readonly name: string;
  readonly pid: number;
  /** How it ended; `undefined` while it runs. */
  readonly exit: Exit | undefined;
  /** Resolves with how it ended. */
  readonly ended: Promise<Exit>;
  /** All that it printed until now; it can be asked after the end, when the file is gone. */
  log(): string;
  /** An error that names the process, says `what` happened, and shows the last 20 lines of its log. */
  failure(what: string): Error;
  /** Sends a signal to the process itself: SIGSTOP pauses it, SIGCONT lets it go on. */
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL when `graceMs` have passed. A paused process goes on, so that it can end. */
  stop(graceMs: number): Promise<Exit>;
  /** SIGKILL, which the process cannot see coming, and how it ended. */
  kill(): Promise<Exit>;
}

/**
 * Starts a process whose output goes to `logFile`.
 *
 * @throws Error when the command cannot be started (ENOENT, EACCES). On Linux, setpriv starts the command: then the log has the reason.
 */
export async function launch(
  name: string,
  command: string,
  args: readonly string[],
  options: { logFile: string; env?: NodeJS.ProcessEnv },
): Promise<Supervised> {
  const [program, ...rest] = [...diesWithParent(), command, ...args];
  const output = openSync(options.logFile, 'a');
  const child = spawn(program as string, rest, { stdio: ['ignore', output, output], env: options.env ?? process.env });
  closeSync(output);
  await once(child, 'spawn');

  // Whoever removes the workspace need not wait until all processes have ended.
  const written = openSync(options.logFile, 'r');
  const readLog = () => {
    const text = Buffer.alloc(fstatSync(written).size);
    readSync(written, text, 0, text.length, 0);
    return text.toString();
  };
  let exit: Exit | undefined;
  let finalLog: string | undefined;
  const forget = onExit(() => child.kill('SIGKILL'));
  const ended = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      exit = { code, signal };
      finalLog = readLog();
      closeSync(written);
      forget();
      resolve(exit);
    });
  });
  const log = () => finalLog ?? readLog();
  return {
    name,
    pid: child.pid as number,
    get exit() {
      return exit;
    },
    ended,
    log,
    failure: (what) => new Error(`${name} ${what}; the end of its log:\n${lastLines(log(), TAIL_LINES)}`),
    signal: (name) => {
      child.kill(name);
    },
    stop: async (graceMs) => exit ?? (await end(child, 'SIGTERM', graceMs)),
    kill: async () => exit ?? (await end(child, 'SIGKILL', 0)),
  };
}

/** The last `count` lines of a text. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

async function end(child: ChildProcess, signal: NodeJS.Signals, graceMs: number): Promise<Exit> {
  const exited = once(child, 'exit');
  child.kill(signal);
  child.kill('SIGCONT');
  const impatience = setTimeout(() => child.kill('SIGKILL'), graceMs);
  const [code, endedBy] = (await exited) as [number | null, NodeJS.Signals | null];
  clearTimeout(impatience);
  return { code, signal: endedBy };
}

let parentDeathPrefix: string[] | undefined;

/** Where util-linux is at hand, the kernel ends the child even when we are killed with SIGKILL and can do nothing. */
function diesWithParent(): readonly string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--'];
  parentDeathPrefix ??= spawnSync('setpriv', [...prefix.slice(1), 'true']).status === 0 ? prefix : [];
  return parentDeathPrefix;
}
