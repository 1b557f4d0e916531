import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { count } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import { POLICY_GONE_MS } from './ended-startup-taints.ts';
import type { NodeView } from './node-view.ts';

/**
 * Warnings about nodes that wait with a startup taint of a changed or deleted policy.
 * @param waiting the number of these nodes
 * @param outcome `may`: it is not known whether another policy has or keeps the taint, or whether the change concerns these nodes
 */
export function startupWarnings(waiting: number, outcome: 'will' | 'may'): string[] {
  return waiting === 0 ? [] : [lossText(waiting, outcome, 'the startup taint of this policy')];
}

/**
 * Warnings for a user who changes the labels of a waiting node, so that no policy sets its startup taints any more. A new leader does not know which
 * policy set such a taint, and leaves it on the node.
 * @param ended see {@link endedStartupTaints}
 */
export function relabelWarnings({ name }: Pick<NodeView, 'name'>, ended: readonly Taint[]): string[] {
  return ended.flatMap((taint) => {
    const text = formatTaint(taint);
    return [
      `${lossText(1, 'will', `startup taint ${text}`)}: ${name}`,
      `if it stays: kubectl taint node ${shellWord(name)} ${shellWord(`${text}-`)}`,
    ];
  });
}

function lossText(waiting: number, outcome: 'will' | 'may', what: string): string {
  const nodes = `${count(waiting, 'node')} still ${waiting === 1 ? 'waits' : 'wait'}`;
  return `${nodes}, and ${outcome} lose ${what} in ${POLICY_GONE_MS / 1_000} seconds`;
}
