import type { MissingTaint } from '../../judge/missing-taint.ts';
import type { NodeStep } from '../../judge/node/node-step.ts';
import { rebootTaints } from '../../judge/startup/startup-step.ts';
import { formatTaint, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import type { StartupChanges } from './startup/startup-changes.ts';
import type { WriteFault } from './write-faults.ts';

/** The changes of taints that one write makes. */
export interface TaintChanges {
  /** The required taints that it sets, for each policy. */
  readonly set: readonly MissingTaint[];
  readonly startup: StartupChanges;
}

/** The outcome of a write. */
export interface WrittenChanges {
  readonly stored: TaintChanges;
  /** What the API server did not store, and why: mutating webhooks are called, too. Undefined for nothing. */
  readonly undone: (TaintChanges & { readonly fault: WriteFault }) | undefined;
}

export function taintChangesOf({ drift, startup }: Pick<NodeStep, 'drift' | 'startup'>): TaintChanges {
  return {
    set: drift.missing.filter(({ blockedBy }) => blockedBy === undefined),
    startup: { ...startup, awaitingRecord: startup.boot?.kind === 'SetAgain' ? rebootTaints(startup) : [] },
  };
}

/**
 * Compares the taints that were sent for a node with those that the API server has stored.
 * @param node its name
 * @param stored undefined if no taints were sent
 */
export function writtenChanges(
  changes: TaintChanges,
  node: string,
  sent: readonly Taint[],
  stored: readonly Taint[] | undefined,
): WrittenChanges {
  if (stored === undefined) return { stored: changes, undone: undefined };
  const [sentValues, storedValues] = [valuesOf(sent), valuesOf(stored)];
  const isUndone = (taint: Taint) => sentValues.get(taintIdentity(taint)) !== storedValues.get(taintIdentity(taint));
  const undone = partOf(changes, isUndone);
  const { set, startup } = undone;
  const taints = [...set, ...startup.toSetLate, ...startup.toSetAgain, ...startup.removable].map(({ taint }) =>
    formatTaint(taint),
  );
  if (taints.length === 0) return { stored: changes, undone: undefined };
  const message =
    `a mutating webhook or MutatingAdmissionPolicy undoes the change of taint ${[...new Set(taints)].join(', ')} on node ${node}; ` +
    'to list them: kubectl get mutatingwebhookconfigurations; kubectl get mutatingadmissionpolicies';
  return {
    stored: partOf(changes, (taint) => !isUndone(taint)),
    undone: { ...undone, fault: { kind: 'Undone', message } },
  };
}

function partOf({ set, startup }: TaintChanges, isIn: (taint: Taint) => boolean): TaintChanges {
  const among = <One extends { readonly taint: Taint }>(all: readonly One[]) => all.filter(({ taint }) => isIn(taint));
  const { toSetLate, toSetAgain, removable, needEntry } = startup;
  return {
    set: among(set),
    startup: {
      toSetLate: among(toSetLate),
      toSetAgain: among(toSetAgain),
      removable: among(removable),
      needEntry: among(needEntry),
      // An annotation that is not stored is written again.
      awaitingRecord: [],
    },
  };
}
