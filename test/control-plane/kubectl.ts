import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const KUBECTL_TIMEOUT_MS = 30_000;

export interface KubectlResult {
  /** kubectl's exit code; -1 when it was ended after 30 s. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl to its end. A failure is a result like any other. */
export async function runKubectl(
  binary: string,
  kubeconfigFile: string,
  args: readonly string[],
  options: { home: string; input?: string },
): Promise<KubectlResult> {
  const child = spawn(binary, [`--kubeconfig=${kubeconfigFile}`, ...args], {
    // A home of its own: no ~/.kube/kuberc, no discovery cache of another cluster on the same port.
    env: { ...process.env, HOME: options.home, KUBECONFIG: '' },
    timeout: KUBECTL_TIMEOUT_MS,
  });
  // kubectl may end without reading all of its input.
  child.stdin.on('error', () => {}).end(options.input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: (code as number | null) ?? -1, stdout, stderr };
}
