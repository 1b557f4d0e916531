import { IGNORE_ANNOTATION } from '../policy/daemon-set.ts';
import { ADDED_ANNOTATION } from '../policy/daemon-set-repair.ts';
import { listLacks, policiesOf, type RunningDaemonSet, titleOf } from './running-daemon-set.ts';
import type { Trouble } from './trouble.ts';

export interface DaemonSetTrouble extends Trouble {
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
  culprit(daemonSet: RunningDaemonSet): string;
  /** Names of the policies that patch such a DaemonSet, lacking something or not. */
  patchedBy(daemonSet: RunningDaemonSet): string[];
}

type Report = (policies: readonly string[], reason: string, note: (policy: string) => string, more: string) => void;

/** What keeps tolerations from being appended, for each policy that asks for them. */
export function daemonSetTroubles(obstacles: Obstacles): DaemonSetTrouble[] {
  const { daemonSets, stalledMs } = obstacles;
  const waiting = daemonSets.filter(({ lacks, putBack }) => lacks.length > 0 && !putBack);
  const lasting = `for ${Math.round(stalledMs / 60_000)} minutes`;
  return daemonSets.flatMap((daemonSet) => {
    const found: DaemonSetTrouble[] = [];
    tell(daemonSet, (policies, reason, note, more) => {
      for (const policy of new Set(policies)) {
        const message = `${titleOf(daemonSet)} ${note(policy)}${more}`;
        found.push({ kind: 'TolerationPolicy', policy, reason, message, daemonSet, note: note(policy) });
      }
    });
    return found;
  });

  function tell(daemonSet: RunningDaemonSet, report: Report): void {
    const { standing, patched, putBack } = daemonSet;
    if (putBack) {
      const note = (policy: string) =>
        `got toleration ${listLacks(daemonSet, policy)}, and somebody took it out again: it is not added any more`;
      report(policiesOf(daemonSet), 'PutBack', note, ` (${obstacles.culprit(daemonSet)}). ${PUT_BACK_ADVICE}`);
    }
    if (patched && standing.stalled) {
      // Once it was rolled out, that it ails is no trouble unless somebody waits for it.
      const own = standing.rolledOut ? [] : obstacles.patchedBy(daemonSet);
      const note = () => `got tolerations, and its pods have not all been replaced and available ${lasting}`;
      report([...own, ...waiting.flatMap(policiesOf)], 'RolloutStalled', note, `. ${STALLED_ADVICE}`);
    }
    if (!waiting.includes(daemonSet)) return;
    const refusal = obstacles.refusal(daemonSet);
    if (refusal !== undefined) {
      const note = (policy: string) => `lacks toleration ${listLacks(daemonSet, policy)} and may not be patched`;
      report(policiesOf(daemonSet), 'PatchRefused', note, `: ${refusal}`);
    }
    if (!patched && standing.stalled) {
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
