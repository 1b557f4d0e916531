import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { launch, type Supervised } from '../control-plane/process.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const START_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 60_000;
/** The first process of a PID namespace: it reaps what loses its parent, and never ends by itself. */
const INIT = ['bash', '-c', 'trap : TERM HUP; while :; do sleep 1000 & wait $!; done'];

/**
 * Namespaces for network, mounts, host name and processes. Whatever runs in them ends with their first process, which ends with us,
 * however we end.
 */
export interface Namespaces {
  /** The first process, as the machine numbers it. */
  readonly pid: number;
  /** The command line that runs a command in them. */
  entering(command: readonly string[]): readonly [string, ...string[]];
  /** Runs a command to its end. @throws Error with what it printed on stderr when it fails */
  run(command: readonly string[]): Promise<string>;
  /** SIGKILL for all in them at once. */
  end(): Promise<void>;
}

/**
 * @param outer the namespaces in which to make them: they end with those, too
 * @param init the command that becomes their first process
 * @throws Error when the kernel refuses
 */
export async function makeNamespaces(
  name: string,
  logFile: string,
  outer?: Namespaces,
  init: readonly string[] = INIT,
): Promise<Namespaces> {
  const flags = ['--net', '--mount', '--pid', '--uts', '--fork', '--mount-proc', '--kill-child'];
  const command = ['unshare', ...flags, ...init];
  const [program, ...args] = outer ? outer.entering(command) : (command as [string, ...string[]]);
  const holder = await launch(name, program, args, { logFile });
  const depth = outer ? depthOf(outer.pid) + 1 : undefined;
  const pid = await waitUntil(() => findInit(holder, depth), {
    timeoutMs: START_TIMEOUT_MS,
    otherwise: () => holder.failure('made no namespaces').message,
  });
  const entering = (inner: readonly string[]): readonly [string, ...string[]] => [
    ...(['nsenter', `--target=${pid}`, '--net', '--mount', '--pid', '--uts', '--'] as const),
    ...inner,
  ];
  return {
    pid,
    entering,
    run: (inner) => runCommand(entering(inner)),
    end: async () => {
      if (!holder.exit) process.kill(pid, 'SIGKILL');
      await waitUntil(() => (holder.exit ? true : undefined), {
        timeoutMs: START_TIMEOUT_MS,
        otherwise: () => `${name} did not end`,
      });
    },
  };
}

/** Runs a command on this machine, outside of all namespaces, to its end. */
export async function runCommand([program, ...args]: readonly [string, ...string[]]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: COMMAND_TIMEOUT_MS });
  return stdout;
}

/** The processes that a process has started and that still run, youngest last. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

/** The first process of the new PID namespace, once it is there: `unshare` and `nsenter` have forked on the way to it. */
function findInit(holder: Supervised, depth: number | undefined): number | undefined {
  if (holder.exit) throw holder.failure('ended early');
  for (let pid: number | undefined = holder.pid; pid !== undefined; pid = childrenOf(pid)[0]) {
    const numbers = numbersOf(pid);
    if (numbers.at(-1) === 1 && (depth === undefined || numbers.length === depth)) return pid;
  }
  return undefined;
}

function depthOf(pid: number): number {
  return numbersOf(pid).length;
}

/** What a process is called in each PID namespace that it is in, the outermost first. */
function numbersOf(pid: number): number[] {
  try {
    const line = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
    return line.split(/\s+/).map(Number);
  } catch {
    return [];
  }
}
