import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { deployedEnvironment } from '../../test/control-plane/as-deployed.ts';
import { freePorts } from '../../test/control-plane/free-ports.ts';
import { whyGoFailed } from '../../test/control-plane/go-failure.ts';
import { launch, type Supervised } from '../../test/control-plane/process.ts';
import { exitFor } from '../../test/control-plane/provide-or-exit.ts';
import { launchServe } from '../../test/control-plane/serve-process.ts';
import { waitUntil } from '../../test/control-plane/wait-until.ts';
import { createWorkspace } from '../../test/control-plane/workspace.ts';
import {
  BUNDLE,
  buildBundle,
  type Contender,
  type ContenderFlags,
  contendersOf,
  type NodeVersion,
  nodeVersions,
} from '../contenders.ts';

/** A webhook with the rules of policies.yaml, running as a process of its own. It answers on `/validate` and `/mutate`. */
export interface Contestant {
  readonly name: string;
  /** The version of Node.js. Undefined for another language. */
  readonly node: string | undefined;
  readonly pid: number;
  readonly port: number;
}

export interface Contestants {
  readonly all: readonly Contestant[];
  /** Of the certificate that all of them serve, for 127.0.0.1. */
  readonly caFile: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export const OURS = 'taintkeeper';
export const BEFORE = 'taintkeeper before';
export const FLOOR = 'bare node:https';
export const FLOOR_WITH_LOG = 'bare node:https with a log';
export const BARE_FASTIFY = 'bare Fastify';
export const CONTROLLER_RUNTIME = 'controller-runtime';

const START_TIMEOUT_MS = 15_000;
const STOP_GRACE_MS = 2_000;

export interface ContestantOptions extends ContenderFlags {
  /** Whether controller-runtime runs as well. It needs Go, the first time for some minutes. */
  readonly go?: boolean;
}

/** Builds and starts them all. taintkeeper is the bundle; all Node.js programs run as the Deployment has it. */
export async function startContestants({ go = true, ...flags }: ContestantOptions = {}): Promise<Contestants> {
  await using starting = new AsyncDisposableStack();
  const workspace = createWorkspace('contestants');
  starting.defer(workspace.remove);
  buildBundle();
  const controllerRuntime = workspace.path('controller-runtime');
  if (go) buildControllerRuntime(controllerRuntime);

  const certDir = workspace.path('certs');
  const env = deployedEnvironment();
  const policies = join(import.meta.dirname, 'policies.yaml');
  const serve = (name: string, program: string, node?: string) => {
    const args = ['--port', '0', '--admin-port', '0', '--cert-dir', certDir, '--policies', policies];
    return launchServe(name, args, { workspace: createWorkspace('serve'), env, program, node });
  };
  const bundle = async ({ isBefore, program, node, version }: Contender): Promise<Contestant> => {
    const running = starting.use(await serve(isBefore ? 'before' : 'after', program, node));
    const { port } = await running.listening(START_TIMEOUT_MS);
    return { name: isBefore ? BEFORE : OURS, node: version, pid: running.pid, port };
  };

  const peer = async (
    name: string,
    version: string | undefined,
    command: string,
    args: (port: number) => readonly string[],
  ): Promise<Contestant> => {
    const [port = 0] = await freePorts(1);
    const child = await launch(name, command, args(port), {
      logFile: workspace.logFile(name.replaceAll(/\W+/g, '-')),
      env: { ...process.env, ...env },
    });
    starting.defer(async () => void (await child.stop(STOP_GRACE_MS)));
    await listening(child, port);
    return { name, node: version, pid: child.pid, port };
  };
  const script = (name: string, { node, version }: NodeVersion, file: string, ...more: readonly string[]) =>
    peer(name, version, node, (port) => [join(import.meta.dirname, file), String(port), certDir, ...more]);
  {
    // A contestant that issued the certificates would have loaded and compiled more than the others.
    await using issuer = await serve('issuer', BUNDLE);
    await issuer.listening(START_TIMEOUT_MS);
  }
  const all: Contestant[] = [];
  for (const contender of contendersOf(flags)) all.push(await bundle(contender));
  for (const version of nodeVersions(flags)) {
    all.push(await script(FLOOR, version, 'floor.ts'));
    all.push(await script(FLOOR_WITH_LOG, version, 'floor.ts', '--log'));
    all.push(await script(BARE_FASTIFY, version, 'bare-fastify.ts'));
  }
  if (go) {
    const args = (port: number) => ['-port', String(port), '-cert-dir', certDir];
    all.push(await peer(CONTROLLER_RUNTIME, undefined, controllerRuntime, args));
  }
  const running = starting.move();
  return { all, caFile: join(certDir, 'ca.crt'), [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function buildControllerRuntime(file: string): void {
  const build = ['build', '-trimpath', '-ldflags', '-s -w', '-o', file, '.'];
  const { status, error, stderr } = spawnSync('go', build, {
    cwd: join(import.meta.dirname, 'controller-runtime'),
    encoding: 'utf8',
  });
  if (status !== 0)
    exitFor(`${CONTROLLER_RUNTIME}: ${error ? 'not built, because Go is not installed' : whyGoFailed(stderr)}`);
}

function listening(child: Supervised, port: number): Promise<true> {
  const probe = () =>
    new Promise<true | undefined>((resolve) => {
      if (child.exit) throw child.failure('ended');
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(undefined));
      socket.once('connect', () => socket.destroy());
    });
  return waitUntil(probe, {
    timeoutMs: START_TIMEOUT_MS,
    otherwise: () => child.failure('does not listen').message,
  });
}
