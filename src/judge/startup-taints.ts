import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';

/** A startup taint that stays on a Ready node for longer is reported, in milliseconds. */
export const STARTUP_TAINT_LIMIT_MS = 900_000;

/** Taints that a message names. */
const MAX_NAMED = 5;

/** In words, for example `startup taint cilium.io/agent-not-ready:NoSchedule has been on the Ready node for 20 minutes`. */
export function remainingText(taints: readonly Taint[], forMs: number): string {
  const [what, has] = taints.length === 1 ? ['startup taint', 'has'] : ['startup taints', 'have'];
  return `${what} ${atMost(MAX_NAMED, taints.map(formatTaint)).join(', ')} ${has} been on the Ready node for ${Math.floor(forMs / 60_000)} minutes`;
}
