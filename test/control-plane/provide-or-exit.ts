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

/** The number that a flag has. Ends this process for anything else. */
export function numberOf(flag: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : exitFor(`--${flag} takes a number, not '${text}'`);
}
