import { isDeepStrictEqual } from 'node:util';
import type { ClusterNode } from '../../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../cluster/watch/cached-objects.ts';
import type { StartupStep } from '../../../judge/startup/startup-step.ts';
import {
  lastingObstaclesText,
  overdueAdvice,
  type WaitingTaint,
  waitingText,
} from '../../../judge/startup/waiting-taint.ts';
import { taintIdentity } from '../../../kubernetes/taint.ts';
import { shorten } from '../../../text/printable.ts';
import type { RecordOnNode } from '../../record-on-node.ts';
import type { Concern } from '../concerns.ts';
import type { PerNode } from '../per-node.ts';

/** The most characters for one node in a condition: names of DaemonSets and their node affinity may be long. */
export const MAX_NODE_TEXT = 600;

/** What each node waits for with its startup taints, by its last step. */
export interface WaitingNodes {
  /** Notes what the node waits for now, and records taints that become overdue. */
  note(node: Entry<ClusterNode>, step: Pick<StartupStep, 'waiting'>): void;
  /** Whether startup taints of the node wait. */
  has(node: string): boolean;
  /** What the startup taints of the node wait for, in words. */
  textOn(node: string): string | undefined;
  /** The taints that wait for DaemonSets which other taints keep off the node, however long it waits. */
  keptOff(): Concern[];
  /** The taints that wait past their progress deadline. */
  overdue(): Concern[];
}

/** A node whose startup taints wait. */
interface Wait {
  readonly uid: string;
  readonly waiting: readonly WaitingTaint[];
  /** The identities of taints that were recorded as overdue, and are so still. */
  readonly recorded: ReadonlySet<string>;
}

/** @param onChange called when {@link WaitingNodes.textOn}, {@link WaitingNodes.overdue} or {@link WaitingNodes.keptOff} has changed */
export function trackWaitingNodes(kept: PerNode, record: RecordOnNode, onChange: () => void): WaitingNodes {
  const waits = kept.map<Wait>();
  return {
    note(node, { waiting }) {
      const { name, uid } = node;
      const last = waits.get(name);
      const recorded = recordOverdue(record, node, waiting, last?.uid === uid ? last.recorded : new Set());
      if (waiting.length === 0) waits.delete(name);
      else waits.set(name, { uid, waiting, recorded });
      const shown = (taints: readonly WaitingTaint[]) => [
        textOf(taints),
        overdueOn(name, taints),
        keptOffOn(name, taints),
      ];
      if (!isDeepStrictEqual(shown(last?.waiting ?? []), shown(waiting))) onChange();
    },
    has: (node) => waits.has(node),
    textOn: (node) => textOf(waits.get(node)?.waiting ?? []),
    keptOff: () => [...waits].flatMap(([name, { waiting }]) => keptOffOn(name, waiting)),
    overdue: () => [...waits].flatMap(([name, { waiting }]) => overdueOn(name, waiting)),
  };
}

/**
 * Records the overdue taints that were not recorded before.
 * @param before the identities of those that were
 * @returns the identities of all that are overdue. After a reboot, a taint has another deadline, and is recorded again
 */
function recordOverdue(
  record: RecordOnNode,
  node: Entry<ClusterNode>,
  waiting: readonly WaitingTaint[],
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  const allOverdue = waiting.filter(({ isOverdue }) => isOverdue);
  for (const overdue of allOverdue) {
    const { taint, progressDeadlineMs } = overdue.requirement;
    if (before.has(taintIdentity(taint))) continue;
    const note = [
      waitingText(overdue),
      `the progress deadline of ${progressDeadlineMs / 1000} s has passed`,
      ...overdueAdvice(overdue.requirement),
    ].join('; ');
    record(node, { type: 'Warning', reason: 'StartupTaintRemains', action: 'StartupTaint', note });
  }
  return new Set(allOverdue.map(({ requirement }) => taintIdentity(requirement.taint)));
}

function textOf(waiting: readonly WaitingTaint[]): string | undefined {
  return waiting.length === 0 ? undefined : waiting.map(waitingText).join('; ');
}

/**
 * The startup taints of a node that wait past the progress deadline. The policies are `Stalled` then, as a Deployment whose progress deadline
 * is exceeded: kstatus counts that as `Stalled`, too (sigs.k8s.io/cli-utils: pkg/kstatus/status/core.go).
 */
function overdueOn(name: string, waiting: readonly WaitingTaint[]): Concern[] {
  return waiting.filter(({ isOverdue }) => isOverdue).map((one) => concernOn(name, one, waitingText(one)));
}

function keptOffOn(name: string, waiting: readonly WaitingTaint[]): Concern[] {
  return waiting
    .filter(({ lastingObstacles }) => lastingObstacles.length > 0)
    .map((one) => concernOn(name, one, lastingObstaclesText(one)));
}

function concernOn(node: string, { requirement }: WaitingTaint, text: string): Concern {
  return { policies: requirement.policyNames, text: shorten(`on node ${node}, ${text}`, MAX_NODE_TEXT) };
}
