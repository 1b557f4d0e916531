import type { ClusterNode } from '../../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../cluster/watch/cached-objects.ts';
import type { StartupRequirement } from '../../../judge/startup/startup-requirement.ts';
import type { StartupStep } from '../../../judge/startup/startup-step.ts';
import { formatTaint } from '../../../kubernetes/taint.ts';
import type { RecordOnNode } from '../../record-on-node.ts';

/** The startup taints that one write adds, removes, and gives an entry of the annotation allow-removal. */
export interface StartupChanges extends Pick<StartupStep, 'toSetLate' | 'toSetAgain' | 'removable' | 'needEntry'> {
  /** The taints that wait until the write has recorded a reboot. */
  readonly awaitingRecord: readonly StartupRequirement[];
}

/** The names of the policies that the changes concern. Empty if nothing changes. */
export function policiesOf({ toSetLate, toSetAgain, removable, needEntry, awaitingRecord }: StartupChanges): string[] {
  return [...toSetLate, ...toSetAgain, ...removable, ...needEntry, ...awaitingRecord].flatMap(
    ({ policyNames }) => policyNames,
  );
}

/** Records changes that were written. */
export function recordStartupChanges(
  record: RecordOnNode,
  node: Entry<ClusterNode>,
  { toSetLate, toSetAgain, removable }: StartupChanges,
): void {
  for (const { taint } of toSetLate) {
    const note = `added startup taint ${formatTaint(taint)}, which the node lacked while it was not ready`;
    record(node, { type: 'Normal', reason: 'TaintAdded', action: 'StartupTaint', note });
  }
  for (const { taint } of toSetAgain) {
    const note = `added startup taint ${formatTaint(taint)} again: the node has rebooted`;
    record(node, { type: 'Normal', reason: 'TaintAdded', action: 'StartupTaint', note });
  }
  for (const { taint, reason, isGivenUp } of removable) {
    const note = `removed startup taint ${formatTaint(taint)}: ${reason}`;
    const type = isGivenUp ? 'Warning' : 'Normal';
    record(node, { type, reason: 'StartupTaintRemoved', action: 'StartupTaint', note });
  }
}
