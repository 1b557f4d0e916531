import type { ClusterDaemonSet, ClusterNode } from '../../cluster/cluster-objects.ts';
import type { PolicyObject } from '../../cluster/policy-object.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { ADDED_ANNOTATION, addedHere, addedTolerations, recordOfAdded } from '../../judge/added-tolerations.ts';
import { IGNORE_ANNOTATION, judgeRunningDaemonSet, optsOut } from '../../judge/daemon-set.ts';
import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/policy-status.ts';
import type { StalledReason } from '../../policy/status-conditions.ts';
import type { StalledProblem } from '../reports.ts';
import type { DaemonSets, Nodes } from '../sources.ts';
import { listLacks, policiesOf, type RunningDaemonSet, titleOf } from './daemon-set-writer.ts';
import { watchRollouts } from './rollout-watch.ts';

/** Reasons of the condition, which the Events have as well. */
type Reason = StalledReason & EventReason;

export interface DaemonSetProblem extends StalledProblem {
  readonly reason: Reason;
  readonly daemonSet: RunningDaemonSet;
  /** The message without what differs from one time to the next, and without advice. */
  readonly note: string;
}

export interface Obstacles {
  readonly daemonSets: readonly RunningDaemonSet[];
  readonly stalledMs: number;
  /** Why the API server refused to patch it, if it did. */
  refusal(daemonSet: RunningDaemonSet): string | undefined;
  /** Who put it back, in words. */
  otherWriter(daemonSet: RunningDaemonSet): string;
  /** Names of the policies that patch such a DaemonSet, lacking something or not. */
  patchedBy(daemonSet: RunningDaemonSet): string[];
}

type Report = (policies: readonly string[], reason: Reason, note: (policy: string) => string, more: string) => void;

/** What keeps tolerations from being appended, for each policy that asks for them. */
export function daemonSetProblems(obstacles: Obstacles): DaemonSetProblem[] {
  const { daemonSets, stalledMs } = obstacles;
  const waiting = daemonSets.filter(({ lacks, isUndone }) => lacks.length > 0 && !isUndone);
  const lasting = `for ${Math.round(stalledMs / 60_000)} minutes`;
  return daemonSets.flatMap((daemonSet) => {
    const found: DaemonSetProblem[] = [];
    tell(daemonSet, (policies, reason, note, more) => {
      for (const policy of new Set(policies)) {
        const message = `${titleOf(daemonSet)} ${note(policy)}${more}`;
        found.push({ kind: 'TolerationPolicy', policy, reason, message, daemonSet, note: note(policy) });
      }
    });
    return found;
  });

  function tell(daemonSet: RunningDaemonSet, report: Report): void {
    const { rollout, patched, isUndone } = daemonSet;
    if (isUndone) {
      const note = (policy: string) =>
        `got toleration ${listLacks(daemonSet, policy)}, and it was removed again: it is not added any more`;
      report(policiesOf(daemonSet), 'PutBack', note, ` (${obstacles.otherWriter(daemonSet)}). ${PUT_BACK_ADVICE}`);
    }
    if (patched && rollout.stalled) {
      // After the rollout, failing pods are a problem only if another DaemonSet waits for this one.
      const own = rollout.rolledOut ? [] : obstacles.patchedBy(daemonSet);
      const note = () => `got tolerations, and its pods have not all been replaced and available ${lasting}`;
      report([...own, ...waiting.flatMap(policiesOf)], 'RolloutStalled', note, `. ${STALLED_ADVICE}`);
    }
    if (!waiting.includes(daemonSet)) return;
    const refusal = obstacles.refusal(daemonSet);
    if (refusal !== undefined) {
      const note = (policy: string) =>
        `lacks toleration ${listLacks(daemonSet, policy)} and the API server refuses the patch`;
      report(policiesOf(daemonSet), 'PatchRefused', note, `: ${refusal}`);
    }
    if (!patched && rollout.stalled) {
      const note = (policy: string) =>
        `lacks toleration ${listLacks(daemonSet, policy)} and is not patched: its pods have not all been available ${lasting}`;
      report(policiesOf(daemonSet), 'NotHealthy', note, '');
    }
  }
}

const PUT_BACK_ADVICE =
  `Add the toleration at the source, or opt out with the annotation ${IGNORE_ANNOTATION}=true; ` +
  `to have it tried again, opt out, remove the annotation ${ADDED_ANNOTATION}, and opt in`;
const STALLED_ADVICE = `No other DaemonSet is patched until they are, or it opts out with the annotation ${IGNORE_ANNOTATION}=true`;

export interface DaemonSetDriftOptions {
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Nodes;
  readonly daemonSets: DaemonSets;
  readonly compiled: () => PolicySet;
  /** As they are when the leader begins: their status says what leaders before it have patched. */
  readonly policies: () => readonly PolicyObject[];
  /** How long a DaemonSet has to be healthy before that counts. */
  readonly stableMs: number;
  /** How long one that is not makes no progress before somebody should look. */
  readonly stalledMs: number;
}

export interface DaemonSetDrift {
  /**
   * Those that lack tolerations, and those that got some while they ran; by namespace and name.
   * @param installation see {@link addedHere}
   */
  look(now: number, installation: string | undefined): RunningDaemonSet[];
  /** It got what it lacked. @param installation as of {@link look} */
  patched(daemonSet: RunningDaemonSet, installation: string | undefined): void;
  /** What the policy has patched, for its status. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
}

/** What a DaemonSet got for one policy. */
interface Given {
  readonly policy: string;
  readonly to: PatchedDaemonSet;
}

/**
 * What was added to a DaemonSet is kept in three places: in its annotation, written with the tolerations themselves; in the status of
 * the policy, because its owner can replace the DaemonSet as a whole, the annotation with it; and here, until the status is written.
 */
export function daemonSetDrift(options: DaemonSetDriftOptions): DaemonSetDrift {
  const { namespace, nodes, daemonSets, compiled, stableMs, stalledMs } = options;
  const rollouts = watchRollouts({ stableMs, stalledMs });
  /** By uid and policy. */
  const given = new Map<string, Given>();
  for (const { kind, name, status } of options.policies()) {
    if (kind !== 'TolerationPolicy') continue;
    for (const to of (status as PolicyStatus | undefined)?.patched ?? [])
      given.set(keyOf(to.uid, name), { policy: name, to });
  }

  return {
    look(now, installation) {
      const policies = compiled();
      const unready = unreadyNodes(nodes);
      const entries = [...daemonSets.entries()].filter((entry) => entry.namespace !== namespace);
      const there = new Map(entries.map((entry) => [entry.uid, entry]));
      for (const [key, { to }] of given) {
        const entry = there.get(to.uid);
        // An owner who opts in again asks for another try.
        if (!entry || optsOut(entry.value)) given.delete(key);
      }
      const found = entries.flatMap((entry): RunningDaemonSet[] => {
        const { value } = entry;
        if (value.deleting || optsOut(value)) return [];
        const annotated = addedHere(value.annotations, installation);
        // A leader that was killed may have left its status unwritten.
        const [policy] = policies.tolerationPolicies.filter(
          (one) => one.patchesExisting && one.selectsDaemonSet(value),
        );
        const known = new Set(givenTo(entry.uid, installation));
        if (policy)
          give(
            entry,
            policy.name,
            annotated.filter((text) => !known.has(text)),
            installation,
          );
        const decision = judgeRunningDaemonSet(value, policies);
        const added = new Set([...annotated, ...known]);
        const patched = added.size > 0 || addedTolerations(value.annotations).length > 0;
        if (decision.violations.length === 0 && !patched) return [];
        return [
          {
            entry,
            lacks: decision.violations,
            isUndone: decision.violations.some(({ subject }) => added.has(subject)),
            patched,
            record: recordOfAdded(value, decision.violations, installation),
            tolerations: decision.action === 'patch' ? decision.desired.tolerations : value.tolerations,
            rollout: rollouts.look(entry.uid, value, unready, now),
          },
        ];
      });
      rollouts.retain(new Set(found.map(({ entry }) => entry.uid)));
      return found.sort((a, b) => (titleOf(a) < titleOf(b) ? -1 : 1));
    },
    patched({ entry, lacks }, installation) {
      for (const policy of new Set(lacks.map((one) => one.policy))) {
        give(
          entry,
          policy,
          lacks.filter((one) => one.policy === policy).map(({ subject }) => subject),
          installation,
        );
      }
    },
    patchedBy: (policy) => [...given.values()].flatMap((one) => (one.policy === policy ? [one.to] : [])),
  };

  function give(
    entry: Entry<ClusterDaemonSet>,
    policy: string,
    texts: readonly string[],
    installation: string | undefined,
  ) {
    if (texts.length === 0) return;
    const { namespace, name, uid } = entry;
    const key = keyOf(uid, policy);
    const before = given.get(key)?.to;
    const isOther = before !== undefined && !isOf(before, installation);
    const tolerations = [...new Set([...(isOther ? [] : (before?.tolerations ?? [])), ...texts])];
    // The latest last.
    given.delete(key);
    given.set(key, {
      policy,
      to: { namespace, name, uid, tolerations, ...(installation === undefined ? {} : { installation }) },
    });
  }

  /** Whatever the policy. */
  function givenTo(uid: string, installation: string | undefined): string[] {
    return [...given.values()].flatMap(({ to }) => (to.uid === uid && isOf(to, installation) ? to.tolerations : []));
  }
}

/** As {@link addedHere} has it: what another installation added does not count. */
function isOf(to: PatchedDaemonSet, installation: string | undefined): boolean {
  return to.installation === undefined || installation === undefined || to.installation === installation;
}

function keyOf(uid: string, policy: string): string {
  return `${uid}/${policy}`;
}

/** The nodes that are not Ready, by name: what is to happen there may never happen. */
function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}
