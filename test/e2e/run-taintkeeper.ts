import type { ControlPlane } from '../control-plane/control-plane.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { runTool, type ToolResult } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';

/** Runs a command of taintkeeper's against the cluster, as the admin, to its end. */
export async function runTaintkeeper(cp: ControlPlane, args: readonly string[]): Promise<ToolResult> {
  const KUBECONFIG = await cp.kubeconfigFile(admin);
  return runTool(process.execPath, [PROGRAM, ...args, '--namespace', NAMESPACE], {
    env: { ...process.env, KUBECONFIG },
  });
}
