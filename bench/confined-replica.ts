import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { deployedEnvironment } from '../test/control-plane/as-deployed.ts';
import { freePorts } from '../test/control-plane/free-ports.ts';
import type { Cgroup } from './cgroups.ts';
import { BUNDLE } from './contenders.ts';
import { firstAnswer } from './endpoint/first-answer.ts';

/** The bundle without a cluster, set up as the Deployment does, in a cgroup. */
export interface ConfinedReplica {
  readonly port: number;
  /**
   * Resolves when the request is answered, which is sent until then.
   * @throws Error if the replica ends before
   */
  answers(request: Buffer): Promise<void>;
  /** Kills it, and resolves when it has ended. */
  end(): Promise<void>;
}

export async function startConfinedReplica(cgroup: Cgroup, certDir: string): Promise<ConfinedReplica> {
  const [port = 0] = await freePorts(1);
  const child = spawnIn(cgroup, [BUNDLE, 'serve', '--port', `${port}`, '--admin-port', '0', '--cert-dir', certDir]);
  return {
    port,
    answers: (request) => firstAnswer({ port, request, giveUp: () => hasEnded(child) }),
    end: () => kill(child),
  };
}

/** Starts Node.js in a cgroup. */
export function spawnIn({ enter }: Cgroup, args: readonly string[]): ChildProcess {
  return spawn('sh', ['-c', `${enter} && exec "$0" "$@"`, process.execPath, ...args], {
    stdio: 'ignore',
    env: { ...process.env, ...deployedEnvironment() },
  });
}

/** Resolves when it has ended. */
export async function kill(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
