import type { ControlPlane } from '../control-plane/control-plane.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { runTool, type ToolResult } from '../control-plane/run-tool.ts';
import { admin, type User } from '../control-plane/users.ts';

/** Runs a command of taintkeeper to its end. */
export function runOffline(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ToolResult> {
  return runTool(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...env } });
}

/** The same against the cluster, as the user. */
export async function runAs(user: User, cp: ControlPlane, args: readonly string[]): Promise<ToolResult> {
  return runOffline(args, { KUBECONFIG: await cp.kubeconfigFile(user) });
}

/** The same as the admin, for an installation in the usual namespace. */
export function runTaintkeeper(cp: ControlPlane, args: readonly string[]): Promise<ToolResult> {
  return runAs(admin, cp, [...args, '--namespace', NAMESPACE]);
}
