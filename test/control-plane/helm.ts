import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheFolder, type GoModule, lockedVersion } from './go-modules.ts';
import { KUBERNETES } from './kubernetes.ts';
import { whyNotBuilt } from './not-built.ts';
import { runTool, type ToolResult } from './run-tool.ts';
import { createWorkspace } from './workspace.ts';

/**
 * Renders the chart. In the go.mod of the control plane, whose Kubernetes libraries it shares: they take two minutes to compile a second time. So it
 * is the Helm that was released with that version of Kubernetes.
 */
export const HELM: GoModule = {
  folder: KUBERNETES.folder,
  packages: { helm: 'helm.sh/helm/v4/cmd/helm' },
  linkerVariables: (version) => ({ 'helm.sh/helm/v4/internal/version.version': version }),
};

/** The helm at hand: that of KUBEBUILDER_ASSETS, what build.ts has built, or one of the PATH of our minor version. */
export function helmPath(): string | undefined {
  const { KUBEBUILDER_ASSETS: given = '', PATH = '' } = process.env;
  const isHelm = (folder: string) => folder !== '' && existsSync(join(folder, 'helm'));
  const folder = [given, cacheFolder(HELM)].find(isHelm) ?? PATH.split(delimiter).filter(isHelm).find(isOurMinor);
  return folder && join(folder, 'helm');
}

function isOurMinor(folder: string): boolean {
  const { stdout } = spawnSync(join(folder, 'helm'), ['version', '--short'], { encoding: 'utf8' });
  const [major, minor] = lockedVersion(HELM, 'helm').split('.');
  return (stdout ?? '').startsWith(`${major}.${minor}.`);
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
