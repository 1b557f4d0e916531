import { type Exit, launch } from './process.ts';
import { PROGRAM } from './program.ts';
import { waitUntil } from './wait-until.ts';
import type { Workspace } from './workspace.ts';

const STOP_GRACE_MS = 10_000;
const LOG_TIMEOUT_MS = 10_000;

/** One line of taintkeeper's log (pino). */
export type LogLine = { msg: string; [field: string]: unknown };

/** Where a process listens. */
export interface Listening {
  readonly port: number;
  readonly adminUrl: string;
}

/** A process of `taintkeeper serve`, whatever has become of it. */
export interface ServeProcess {
  readonly name: string;
  readonly pid: number;
  /** How it ended; `undefined` while it runs. */
  readonly exit: Exit | undefined;
  /** What it has logged until now. */
  logs(): LogLine[];
  /** The first line that is like this, waited for: 10 s unless said otherwise. Throws then, or when the process ends. */
  waitForLog(predicate: (line: LogLine) => boolean, timeoutMs?: number): Promise<LogLine>;
  /** Waits until it says that it serves, and where. */
  listening(timeoutMs: number): Promise<Listening>;
  /** Pauses the process (SIGSTOP): its connections stay open, and nobody answers. */
  pause(): void;
  /** Lets a paused process go on (SIGCONT). */
  resume(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM, and the exit code; `null` when it had to be killed after `graceMs`, by default 10 s. */
  stop(graceMs?: number): Promise<number | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts `taintkeeper serve` with the arguments given. The workspace gets its log, and is removed when it is ended. */
export async function launchServe(
  name: string,
  args: readonly string[],
  options: {
    workspace: Workspace;
    env?: Record<string, string> | undefined;
    program?: string | undefined;
    /** Another Node.js than the one that runs this. */
    node?: string | undefined;
  },
): Promise<ServeProcess> {
  const child = await launch(name, options.node ?? process.execPath, [options.program ?? PROGRAM, 'serve', ...args], {
    logFile: options.workspace.logFile(name),
    env: { ...process.env, ...options.env },
  });
  const logs = () => parseLog(child.log());
  const waitForLog = (predicate: (line: LogLine) => boolean, timeoutMs = LOG_TIMEOUT_MS) =>
    waitUntil(
      () => {
        const line = logs().find(predicate);
        if (!line && child.exit) throw child.failure(`ended (${child.exit.code ?? child.exit.signal})`);
        return line;
      },
      {
        timeoutMs,
        otherwise: () => child.failure(`did not log what was waited for within ${timeoutMs / 1000} s`).message,
      },
    );
  const ended = (exit: Exit) => {
    options.workspace.remove();
    return exit.code;
  };
  const stop = async (graceMs = STOP_GRACE_MS) => ended(await child.stop(graceMs));
  return {
    name,
    pid: child.pid,
    get exit() {
      return child.exit;
    },
    logs,
    waitForLog,
    listening: async (timeoutMs) => {
      const { url, adminUrl } = await waitForLog(({ msg }) => msg === 'serving', timeoutMs);
      return { port: Number(new URL(String(url)).port), adminUrl: String(adminUrl) };
    },
    pause: () => child.signal('SIGSTOP'),
    resume: () => child.signal('SIGCONT'),
    kill: async () => {
      ended(await child.kill());
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

/** Lines that are not JSON come from Node.js itself, and a last line may still be on its way. */
function parseLog(log: string): LogLine[] {
  const whole = log.split('\n').slice(0, -1);
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}
