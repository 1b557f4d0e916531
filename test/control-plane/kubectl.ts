import { runTool, type ToolResult } from './run-tool.ts';

export type KubectlResult = ToolResult;

/** Runs kubectl to its end. A failure is a result like any other. */
export function runKubectl(
  binary: string,
  kubeconfigFile: string,
  args: readonly string[],
  options: { home: string; input?: string },
): Promise<KubectlResult> {
  const { home, ...rest } = options;
  // A home of its own: no ~/.kube/kuberc, no discovery cache of another cluster on the same port.
  const env = { ...process.env, HOME: home, KUBECONFIG: '' };
  return runTool(binary, [`--kubeconfig=${kubeconfigFile}`, ...args], { env, ...rest });
}
