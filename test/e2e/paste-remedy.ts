import { expect } from 'vitest';
import { findAssets } from '../control-plane/assets.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

/** The user has install.yaml in the current folder. */
const MANIFESTS = new URL('../../manifests', import.meta.url).pathname;

/**
 * Runs the command at the end of a remedy in a shell, as a user does who pastes it.
 * @returns what it prints
 */
export async function pasteRemedy(cp: ControlPlane, remedy = ''): Promise<string> {
  const PATH = `${findAssets('newest')?.folder}:${process.env.PATH}`;
  // A home of its own, for kubectl's cache.
  const env = { PATH, HOME: temporaryDirectory(), KUBECONFIG: await cp.kubeconfigFile(admin) };
  const command = remedy.slice(remedy.search(/echo |kubectl |taintkeeper certs /));
  const program = `taintkeeper() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  const result = await runTool('sh', ['-c', `${program}; cd ${MANIFESTS} && ${command}`], { env });
  expect(result.code, `${command}\n${result.stderr}`).toBe(0);
  return result.stdout;
}
