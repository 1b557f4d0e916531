import { execFileSync, spawnSync } from 'node:child_process';
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

/** A webhook with the rules of policies.yaml, running as a process of its own. It answers on `/validate` and `/mutate`. */
export interface Contestant {
  readonly name: string;
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

export const ROOT = join(import.meta.dirname, '..', '..');
export const BUNDLE = join(ROOT, 'dist', 'taintkeeper.cjs');
const START_TIMEOUT_MS = 15_000;
const STOP_GRACE_MS = 2_000;

/** Builds taintkeeper's bundle as releases do. */
export function buildBundle(): void {
  execFileSync('npm', ['run', 'build', '--silent'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}

export interface ContestantOptions {
  /** A folder with an earlier bundle (`dist`), which runs as well. */
  readonly before?: string | undefined;
  /** Whether controller-runtime runs as well. It needs Go, the first time for some minutes. */
  readonly go?: boolean;
}

/** Builds and starts them all. taintkeeper is the bundle; all Node.js programs run as the Deployment has it. */
export async function startContestants({ before, go = true }: ContestantOptions = {}): Promise<Contestants> {
  await using starting = new AsyncDisposableStack();
  const workspace = createWorkspace('contestants');
  starting.defer(workspace.remove);
  buildBundle();
  const controllerRuntime = workspace.path('controller-runtime');
  if (go) buildControllerRuntime(controllerRuntime);

  const certDir = workspace.path('certs');
  const [floorPort = 0, loggingPort = 0, fastifyPort = 0, controllerRuntimePort = 0] = await freePorts(4);
  const env = deployedEnvironment();
  const policies = join(import.meta.dirname, 'policies.yaml');
  const serve = (name: string, program: string) => {
    const args = ['--port', '0', '--admin-port', '0', '--cert-dir', certDir, '--policies', policies];
    return launchServe(name, args, { workspace: createWorkspace('serve'), env, program });
  };
  const bundle = async (name: string, program: string) => {
    const running = starting.use(await serve(name.replaceAll(' ', '-'), program));
    const { port } = await running.listening(START_TIMEOUT_MS);
    return { name, pid: running.pid, port };
  };

  const peer = async (name: string, command: string, args: readonly string[], port: number) => {
    const child = await launch(name, command, args, {
      logFile: workspace.logFile(name.replaceAll(/\W+/g, '-')),
      env: { ...process.env, ...env },
    });
    starting.defer(async () => void (await child.stop(STOP_GRACE_MS)));
    await listening(child, port);
    return { name, pid: child.pid, port };
  };
  const node = (name: string, file: string, port: number, ...args: readonly string[]) =>
    peer(name, process.execPath, [join(import.meta.dirname, file), String(port), certDir, ...args], port);
  {
    // A contestant that issued the certificates would have loaded and compiled more than the others.
    await using issuer = await serve('issuer', BUNDLE);
    await issuer.listening(START_TIMEOUT_MS);
  }
  const all = [
    await bundle(OURS, BUNDLE),
    ...(before === undefined ? [] : [await bundle(BEFORE, join(before, 'taintkeeper.cjs'))]),
    await node(FLOOR, 'floor.ts', floorPort),
    await node(FLOOR_WITH_LOG, 'floor.ts', loggingPort, '--log'),
    await node(BARE_FASTIFY, 'bare-fastify.ts', fastifyPort),
    ...(go
      ? [
          await peer(
            CONTROLLER_RUNTIME,
            controllerRuntime,
            ['-port', String(controllerRuntimePort), '-cert-dir', certDir],
            controllerRuntimePort,
          ),
        ]
      : []),
  ];
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
