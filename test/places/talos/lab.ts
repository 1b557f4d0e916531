import { mkdirSync, readFileSync } from 'node:fs';
import type { TestContext } from 'vitest';
import { lastLines, launch } from '../../control-plane/process.ts';
import { PROGRAM } from '../../control-plane/program.ts';
import { runTool, type ToolResult } from '../../control-plane/run-tool.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../../control-plane/workspace.ts';
import { SERVICE_RANGE } from '../../real-node/addresses.ts';
import { sweepCgroups } from '../../real-node/cgroups.ts';
import { makeNamespaces, type Namespaces } from '../../real-node/namespaces.ts';
import { layWire } from '../../real-node/network.ts';
import { type GeneratedConfigurations, type GenerateOptions, generateConfigurations } from './generate.ts';
import { createMachine, type Machine } from './machine.ts';
import { talosFile } from './programs.ts';
import { makeRootFilesystem } from './root-filesystem.ts';

/** By default, Services have the addresses of the wire, and Talos takes no such address for that of a node. */
const WIRE = `cluster: { network: { serviceSubnets: ['${SERVICE_RANGE}'] } }`;
const START_TIMEOUT_MS = 30_000;
const SHOWN_LINES = 40;

/** Machines with Talos on a wire of their own. All ends with this process. */
export interface TalosLab {
  readonly namespaces: Namespaces;
  readonly workspace: Workspace;
  /** Runs a program in the lab's network, to its end. */
  run(command: readonly string[], options?: RunOptions): Promise<ToolResult>;
  readonly talosctlPath: string;
  /** The same for talosctl. @throws Error with what it printed when it fails */
  talosctl(args: readonly string[]): Promise<string>;
  /** The same for this project's program. A failure is a result like any other. */
  taintkeeper(args: readonly string[], options?: RunOptions): Promise<ToolResult>;
  /** Starts a program in the lab's network that runs until the lab ends, and resolves when it has printed the text. */
  start(name: string, command: readonly string[], says: string, env?: Readonly<Record<string, string>>): Promise<void>;
  /** A machine without power. It has the address of its number. */
  machine(name: string, number: number): Machine;
  /** A cluster of its own, with its own secrets. */
  generate(cluster: string, options?: GenerateOptions): Promise<GeneratedConfigurations>;
  /** The ends of all logs, for a failed test. */
  logs(): string;
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** @throws Error when the kernel refuses; then nothing is left */
export async function startTalosLab(): Promise<TalosLab> {
  sweepCgroups();
  const workspace = createWorkspace('talos');
  const lab = await makeNamespaces('lab', workspace.logFile('lab'));
  const machines: Machine[] = [];
  const logs = new Map<string, () => string>();
  const stop = async () => {
    const errors: unknown[] = [];
    for (const step of [...machines.map((machine) => machine.cutPower), lab.end, workspace.remove]) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `the lab did not end in good order: ${errors}`);
  };
  const run = async (command: readonly string[], { env, input }: RunOptions = {}) => {
    const [program, ...args] = lab.entering(command);
    const home = { HOME: workspace.path('home'), TALOSCONFIG: '' };
    return runTool(program, args, {
      env: { ...process.env, ...home, ...env },
      ...(input === undefined ? {} : { input }),
    });
  };
  const runTalosctl = (args: readonly string[]) => run([talosFile('talosctl'), ...args]);
  const talosctl = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await runTalosctl(args);
    if (code !== 0) throw new Error(`talosctl ${args.join(' ')}: ${stderr || stdout}`);
    return stdout;
  };
  try {
    mkdirSync(workspace.path('home'));
    const root = workspace.path('root');
    makeRootFilesystem(root);
    await layWire(lab);
    return {
      namespaces: lab,
      workspace,
      run,
      talosctlPath: talosFile('talosctl'),
      talosctl,
      taintkeeper: (args, options) => run([process.execPath, PROGRAM, ...args], options),
      async start(name, command, says, env = {}) {
        const [program, ...args] = lab.entering(command);
        const options = { logFile: workspace.logFile(name), env: { ...process.env, ...env } };
        const child = await launch(name, program, args, options);
        logs.set(name, child.log);
        await waitUntil(
          () => {
            if (child.exit) throw child.failure('ended early');
            return child.log().includes(says) || undefined;
          },
          { timeoutMs: START_TIMEOUT_MS, otherwise: () => child.failure(`does not say "${says}"`).message },
        );
      },
      machine(name, number) {
        const logFile = workspace.logFile(name);
        const readLog = () => readFileSync(logFile, 'utf8');
        logs.set(name, readLog);
        const folder = workspace.path(name);
        const machine = createMachine({ name, number, lab, root, folder, logFile, readLog });
        machines.push(machine);
        return machine;
      },
      generate: (cluster, { patches = [], ...options } = {}) => {
        const all = { ...options, patches: [WIRE, ...patches] };
        return generateConfigurations(workspace, cluster, runTalosctl, all);
      },
      logs: () =>
        [...logs]
          .map(([name, read]) => `--- ${name}, the end of its log\n${lastLines(read(), SHOWN_LINES)}`)
          .join('\n'),
      stop,
    };
  } catch (error) {
    await stop().catch((again) => process.stderr.write(`${again}\n`));
    throw error;
  }
}

/** What vitest runs after each test: prints the ends of the logs of a lab if the test has failed. */
export function printOnFailure(lab: () => TalosLab | undefined): (context: TestContext) => void {
  return ({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`${task.name}:\n${lab()?.logs() ?? ''}\n`);
  };
}
