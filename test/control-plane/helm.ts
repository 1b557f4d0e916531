import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, type GoModule } from './go-modules.ts';
import { whyNotBuilt } from './not-built.ts';
import { runTool, type ToolResult } from './run-tool.ts';
import { createWorkspace } from './workspace.ts';

/** Renders the chart. A module of its own: its Kubernetes libraries are not those of the control plane. */
export const HELM: GoModule = {
  folder: join(import.meta.dirname, 'helm'),
  packages: { helm: 'helm.sh/helm/v4/cmd/helm' },
  linkerVariables: (version) => ({ 'helm.sh/helm/v4/internal/version.version': version }),
};

/** The helm at hand: that of KUBEBUILDER_ASSETS if it has one, else what build.ts has built, else `undefined`. */
export function helmPath(): string | undefined {
  const given = process.env.KUBEBUILDER_ASSETS;
  const folders = [...(given ? [given] : []), cacheFolder(HELM)];
  return folders.map((folder) => join(folder, 'helm')).find((file) => existsSync(file));
}

/** Why there is no helm, if so. */
export function obstacleToHelm(): string | undefined {
  return helmPath() ? undefined : whyNotBuilt(HELM, 'helm');
}

/**
 * Runs helm to its end, with none of the user's own settings, repositories and plugins. A failure is a result.
 *
 * @param kubeconfigFile for commands that speak to an API server; without one helm finds none
 * @throws Error when there is no helm
 */
export async function runHelm(
  args: readonly string[],
  options: { kubeconfigFile?: string; input?: string } = {},
): Promise<ToolResult> {
  const binary = helmPath();
  if (!binary) throw new Error(whyNotBuilt(HELM, 'helm'));
  const workspace = createWorkspace('helm');
  const home = workspace.path('home');
  const own = Object.entries(process.env).filter(([name]) => !/^(HELM|XDG)_/.test(name));
  try {
    return await runTool(binary, args, {
      env: { ...Object.fromEntries(own), HOME: home, KUBECONFIG: options.kubeconfigFile ?? workspace.path('none') },
      ...(options.input === undefined ? {} : { input: options.input }),
    });
  } finally {
    workspace.remove();
  }
}
