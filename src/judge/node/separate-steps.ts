import { taintIdentity } from '../../kubernetes/taint.ts';
import type { DesiredNode, StoredNode } from '../node-view.ts';
import type { StartupStep } from '../startup/startup-step.ts';
import { allowRemovalAfter } from './entry-changes.ts';
import { changesOf, desiredNode, type NodeStep } from './node-step.ts';

/** The changes of one kind. */
type Changes = Partial<
  Pick<NodeStep, 'drift' | 'expired' | 'revoked'> & {
    readonly startup: Partial<StartupStep>;
  }
>;

type SeparateStep = NodeStep & { readonly desired: DesiredNode };

const NO_CHANGES = { boot: undefined, toSetAgain: [], toSetLate: [], needEntry: [], removable: [] } as const;

/**
 * The step as several ones, each with the changes of one kind. If the API server refuses a write, it may be because of one of them: another admission
 * plugin forbids it, or the annotations have no room. It must not prevent the others. Required taints come first, and removals last.
 *
 * A reboot is recorded with the taints that it sets again: one without the other would be wrong from then on.
 * @returns none if all changes are of one kind
 */
export function separateSteps(node: StoredNode, step: NodeStep): SeparateStep[] {
  const { drift, startup, expired, revoked } = step;
  const { boot, toSetAgain, toSetLate, needEntry, removable } = startup;
  const kinds: readonly Changes[] = [
    { drift },
    { startup: { boot, toSetAgain } },
    { startup: { toSetLate } },
    { startup: { needEntry }, expired, revoked },
    { startup: { removable } },
  ];
  const separate = kinds
    .map((changes) => withOnly(changes, node, step))
    .filter((one): one is SeparateStep => one.desired !== undefined);
  return separate.length > 1 ? separate : [];
}

function withOnly(changes: Changes, node: StoredNode, step: NodeStep): NodeStep {
  const { drift = { ...step.drift, missing: [], taints: node.taints }, expired = [], revoked = [] } = changes;
  const startup = { ...step.startup, ...NO_CHANGES, ...changes.startup };
  const written = new Set(changesOf(drift, startup).map(keyOf));
  return {
    ...step,
    drift,
    startup,
    expired,
    revoked,
    changes: step.changes.filter((one) => written.has(keyOf(one))),
    desired: desiredNode(node, drift, startup, allowRemovalAfter(node, { startup, expired, revoked })),
  };
}

function keyOf({ taint, change }: Pick<NodeStep['changes'][number], 'taint' | 'change'>): string {
  return `${change} ${taintIdentity(taint)}`;
}
