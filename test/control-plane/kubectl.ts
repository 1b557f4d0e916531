import { runTool, TOOL_TIMEOUT_MS, type ToolResult } from './run-tool.ts';

export type KubectlResult = ToolResult;

/** For the request in progress when kubectl's own limit is over, and for the message that it then prints. */
const MARGIN_MS = 10_000;

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
  const timeoutMs = kubectlLimitMs(args);
  return runTool(binary, [`--kubeconfig=${kubeconfigFile}`, ...args], { env, timeoutMs, ...rest });
}

/** How long kubectl may run, in milliseconds: longer than its own `--timeout`, after which it prints what it waited for. */
export function kubectlLimitMs(args: readonly string[]): number {
  const seconds = args.flatMap((arg) => /^--timeout=(\d+)s$/.exec(arg)?.[1] ?? []).map(Number);
  return Math.max(TOOL_TIMEOUT_MS, ...seconds.map((one) => one * 1_000 + MARGIN_MS));
}
