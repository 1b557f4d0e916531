import type { KubectlResult } from '../test/control-plane/kubectl.ts';
import type { User } from '../test/control-plane/users.ts';

/** Of longer output, only the beginning is shown. */
const MOST_LINES = 8;
const LINES_OF_MORE = 3;

const colour = process.stdout.isTTY && !process.env.NO_COLOR;

export const say = (text: string) => process.stdout.write(`${text}\n`);
export const chapter = (text: string) => say(colour ? `\n\x1b[1m${text}\x1b[0m` : `\n${text}`);

interface Cluster {
  kubectl(args: readonly string[], options: { user: User; input?: string }): Promise<KubectlResult>;
}

/** Runs a command as a user, and shows it with its output. */
export async function showKubectl(
  cluster: Cluster,
  user: User,
  args: readonly string[],
  input?: string,
): Promise<void> {
  say(`$ kubectl ${args.map(quote).join(' ')}   # ${user.name}`);
  const { stdout, stderr } = await cluster.kubectl(args, { user, ...(input === undefined ? {} : { input }) });
  const lines = `${stderr}${stdout}`.match(/.+/g) ?? [];
  const shown = lines.length > MOST_LINES ? lines.slice(0, LINES_OF_MORE) : lines;
  for (const line of shown) say(`  ${line}`);
  if (shown.length < lines.length) say(`  … and ${lines.length - shown.length} lines more`);
}

/** Since `start`, which is of `performance.now()`: such as `3.2 s`. */
export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument}'`;
}
