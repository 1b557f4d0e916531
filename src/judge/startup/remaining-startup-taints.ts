import { formatTaint, type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import { isStartupTaintKey } from '../../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { enforcedWithoutAudit } from '../../policy/policy-index.ts';
import { atMost } from '../../text/counts.ts';
import type { NodeView } from '../node-view.ts';
import { carriedStartup } from './startup-requirement.ts';

/** A startup taint that stays on a Ready node for longer is reported, in milliseconds. */
export const STARTUP_TAINT_LIMIT_MS = 900_000;

/** Taints that a message names. */
const MAX_NAMED = 5;

type TaintedNode = Pick<NodeView, 'labels' | 'taints'>;

/** The startup taints of a node: those with known keys, and those that policies set when it registered. */
export function startupTaintsOn({ labels, taints }: TaintedNode, policies: readonly CompiledTaintPolicy[]): Taint[] {
  const ours = new Set(
    enforcedWithoutAudit(policies, labels).flatMap(({ startup }) => startup.map(({ taint }) => taintIdentity(taint))),
  );
  return taints.filter((taint) => isStartupTaintKey(taint.key) || ours.has(taintIdentity(taint)));
}

/** Those that another client has to remove. One that the leader removes has the deadline of its policies, and is reported with what it waits for. */
export function remainingStartupTaints(node: TaintedNode, policies: readonly CompiledTaintPolicy[]): Taint[] {
  const ofLeader = new Set(carriedStartup(node, policies).map(({ taint }) => taintIdentity(taint)));
  return startupTaintsOn(node, policies).filter((taint) => !ofLeader.has(taintIdentity(taint)));
}

/** In words, for example `startup taint cilium.io/agent-not-ready:NoSchedule has been on the Ready node for 20 minutes`. */
export function remainingText(taints: readonly Taint[], forMs: number): string {
  const [what, has] = taints.length === 1 ? ['startup taint', 'has'] : ['startup taints', 'have'];
  return `${what} ${atMost(MAX_NAMED, taints.map(formatTaint)).join(', ')} ${has} been on the Ready node for ${Math.floor(forMs / 60_000)} minutes`;
}
