import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolResult } from '../../control-plane/run-tool.ts';
import type { Workspace } from '../../control-plane/workspace.ts';
import { nodeAddress } from '../../real-node/addresses.ts';

/** Of the first control plane. */
export const CONTROL_PLANE = nodeAddress(1);

/** What `talosctl gen config` writes for one cluster. */
export interface GeneratedConfigurations {
  readonly controlPlane: string;
  readonly worker: string;
  /** A file. It names no endpoints and no nodes. */
  readonly talosconfig: string;
}

export type RunTalosctl = (args: readonly string[]) => Promise<ToolResult>;

export interface GenerateOptions {
  /** For both configurations, as YAML. */
  readonly patches?: readonly string[];
  /** Such as `1.36.1`. */
  readonly kubernetes?: string;
}

/**
 * Makes the configurations of a cluster with secrets of its own, in the workspace.
 *
 * @throws Error with what talosctl printed when it fails
 */
export async function generateConfigurations(
  workspace: Workspace,
  cluster: string,
  talosctl: RunTalosctl,
  { patches = [], kubernetes }: GenerateOptions = {},
): Promise<GeneratedConfigurations> {
  const run = async (args: readonly string[]) => {
    const { code, stderr } = await talosctl(args);
    if (code !== 0) throw new Error(`talosctl ${args.join(' ')}: ${stderr}`);
  };
  const folder = workspace.path(`cluster-${cluster}`);
  if (!existsSync(folder)) mkdirSync(folder);
  const secrets = join(folder, 'secrets.yaml');
  await run(['gen', 'secrets', '--output-file', secrets]);
  const options = [
    ...patches.flatMap((patch) => ['--config-patch', patch]),
    ...(kubernetes === undefined ? [] : ['--kubernetes-version', kubernetes]),
  ];
  const names = [cluster, `https://${CONTROL_PLANE}:6443`];
  await run(['gen', 'config', ...names, '--with-secrets', secrets, '--output', folder, ...options]);
  return {
    controlPlane: readFileSync(join(folder, 'controlplane.yaml'), 'utf8'),
    worker: readFileSync(join(folder, 'worker.yaml'), 'utf8'),
    talosconfig: join(folder, 'talosconfig'),
  };
}
