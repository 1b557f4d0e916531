import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** How long a tool may run unless its caller says otherwise. */
export const TOOL_TIMEOUT_MS = 30_000;

export interface ToolResult {
  /** The exit code; -1 when a signal ended the tool, as SIGTERM does when its time is over. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command-line tool to its end. A failure is a result like any other. @param options.timeoutMs 30 s unless said otherwise */
export async function runTool(
  binary: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; input?: string; timeoutMs?: number },
): Promise<ToolResult> {
  const child = spawn(binary, args, { env: options.env, timeout: options.timeoutMs ?? TOOL_TIMEOUT_MS });
  // It may end without reading all of its input.
  child.stdin.on('error', () => {}).end(options.input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: (code as number | null) ?? -1, stdout, stderr };
}
