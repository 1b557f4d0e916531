import { expect } from 'vitest';
import { findAssets } from '../control-plane/assets.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { runTool, type ToolResult } from '../control-plane/run-tool.ts';
import { admin, type User } from '../control-plane/users.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

/** The user has install.yaml in the current folder. */
const MANIFESTS = new URL('../../manifests', import.meta.url).pathname;

/**
 * Runs the command at the end of a remedy in a shell, as a user does who pastes it.
 * @returns what it prints
 */
export async function pasteRemedy(cp: ControlPlane, remedy = ''): Promise<string> {
  const command = remedy.slice(remedy.search(/echo |kubectl |taintkeeper certs /));
  const result = await runInShell(cp, command, { folder: MANIFESTS });
  expect(result.code, `${command}\n${result.stderr}`).toBe(0);
  return result.stdout;
}

/**
 * Runs a command in a shell, as an administrator.
 * @param options.folder the current folder
 * @param options.taintkeeperAs the user of `taintkeeper`, the administrator unless said otherwise
 */
export async function runInShell(
  cp: ControlPlane,
  command: string,
  { folder, taintkeeperAs = admin }: { folder: string; taintkeeperAs?: User },
): Promise<ToolResult> {
  const PATH = `${findAssets('newest')?.folder}:${process.env.PATH}`;
  // A home of its own, for kubectl's cache.
  const env = { PATH, HOME: temporaryDirectory(), KUBECONFIG: await cp.kubeconfigFile(admin) };
  const kubeconfig = await cp.kubeconfigFile(taintkeeperAs);
  const program = `taintkeeper() { KUBECONFIG='${kubeconfig}' '${process.execPath}' '${PROGRAM}' "$@"; }`;
  return runTool('sh', ['-c', `${program}; cd '${folder}' && ${command}`], { env });
}
