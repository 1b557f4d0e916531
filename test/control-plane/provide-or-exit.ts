import { findAssets, obstacleTo } from './assets.ts';
import { buildModules } from './build.ts';
import type { OptionalComponent } from './components.ts';
import { KUBERNETES } from './kubernetes.ts';

/**
 * For programs that people start by hand: builds the control plane that they need where it is not built yet. Where that cannot be, it ends
 * this process with one line that says what is missing, and why.
 */
export async function provideOrExit(components: readonly OptionalComponent[] = []): Promise<void> {
  if (!process.env.KUBEBUILDER_ASSETS) await buildModules([KUBERNETES], (line) => process.stderr.write(`${line}\n`));
  const obstacle = obstacleTo(components, findAssets('newest'));
  if (obstacle !== undefined) exitFor(obstacle);
}

/** Ends this process with one line. */
export function exitFor(obstacle: string): never {
  process.stderr.write(`error: cannot run: ${obstacle}\n`);
  process.exit(1);
}

/** Those whose names begin with one of these texts; all without any. Ends this process if there is none. */
export function chosenBy<T extends { readonly name: string }>(starts: readonly string[], all: readonly T[]): T[] {
  const chosen = all.filter(({ name }) => starts.length === 0 || starts.some((start) => name.startsWith(start)));
  return chosen.length > 0 ? chosen : exitFor(`there are ${all.map(({ name }) => name).join(', ')}`);
}

/** The number that a flag has. Ends this process for anything else. */
export function numberOf(flag: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : exitFor(`--${flag} takes a number, not '${text}'`);
}
