import type { Taint } from '../../kubernetes/taint.ts';
import type { BootChange } from '../startup/reboot.ts';
import { rebootTaints, type StartupFacts, type StartupStep } from '../startup/startup-step.ts';
import { type RecordedReboots, rebootsPausedForMs } from './recorded-reboots.ts';

/** When the boot of a Node may be written or deleted: the leader writes only some in each second. */
export interface BootDelay {
  /**
   * In how many milliseconds the boot of the node may be written; 0 for at once, which is the default. Called only if there is something to write, and
   * reboots are not paused.
   */
  readonly bootDueInMs?: (kind: BootChange['kind']) => number;
}

/**
 * A startup taint that another writer sets or removes each time that the leader does the opposite; or one of a node whose boot ID changes repeatedly.
 */
export interface ConflictingChange {
  readonly taint: Taint;
  /** The change that the leader does not make. */
  readonly change: 'set' | 'remove' | 'setAgain';
  readonly policyNames: readonly string[];
}

/** A {@link StartupStep} without what another writer undoes repeatedly, and without a reboot that is not recorded yet. */
export interface DueStep {
  readonly due: StartupStep;
  readonly conflicting: readonly ConflictingChange[];
  /** The taints that are not set again, because the boot ID changes back and forth. */
  readonly paused: readonly ConflictingChange[];
  /** In how many milliseconds the boot of the node may be written. */
  readonly bootInMs: number;
}

export function dueStep(
  step: StartupStep,
  known: RecordedReboots,
  isUndoneByOther: (taint: Taint) => boolean,
  { now, bootDueInMs = () => 0 }: Pick<StartupFacts, 'now'> & BootDelay,
): DueStep {
  const byConflict = <One extends { readonly taint: Taint }>(all: readonly One[]) => {
    const { inConflict = [], due = [] } = Object.groupBy(all, ({ taint }) =>
      isUndoneByOther(taint) ? 'inConflict' : 'due',
    );
    return { inConflict, due };
  };
  const { boot } = step;
  const toSetLate = byConflict(step.toSetLate);
  const removable = byConflict(step.removable);
  const needEntry = byConflict(step.needEntry);
  // What happened in an earlier boot is no conflict.
  const toSetAgain = boot ? { inConflict: [], due: step.toSetAgain } : byConflict(step.toSetAgain);
  const pausedForMs = boot?.kind === 'SetAgain' ? rebootsPausedForMs(known, now) : 0;
  const bootInMs = boot === undefined ? 0 : pausedForMs || bootDueInMs(boot.kind);
  return {
    due: {
      ...step,
      toSetLate: toSetLate.due,
      removable: removable.due,
      needEntry: needEntry.due,
      ...(bootInMs === 0 ? { toSetAgain: toSetAgain.due } : { boot: undefined, toSetAgain: [] }),
    },
    conflicting: [
      ...conflictingBy('set', [...toSetLate.inConflict, ...toSetAgain.inConflict]),
      ...conflictingBy('remove', [...removable.inConflict, ...needEntry.inConflict]),
    ],
    paused: pausedForMs === 0 ? [] : conflictingBy('setAgain', rebootTaints(step)),
    bootInMs,
  };
}

function conflictingBy(
  change: ConflictingChange['change'],
  inConflict: readonly Pick<ConflictingChange, 'taint' | 'policyNames'>[],
): ConflictingChange[] {
  return inConflict.map(({ taint, policyNames }) => ({ taint, change, policyNames }));
}
