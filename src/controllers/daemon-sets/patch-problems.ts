import { ADDED_ANNOTATION } from '../../judge/added-tolerations.ts';
import { IGNORE_ANNOTATION, MAX_TOLERATIONS } from '../../judge/daemon-set-view.ts';
import { isAwaitingPatch, type PatchBlockedBy } from '../../judge/patch-blocked-by.ts';
import type { StalledProblem } from '../reports.ts';
import { listMissing, policiesOf, type RunningDaemonSet, titleOf } from './running-daemon-set.ts';

export interface DaemonSetProblem extends StalledProblem {
  /** Of the condition and of the Events. */
  readonly reason: 'TolerationMissing';
  readonly daemonSet: RunningDaemonSet;
  /** The message without parts that differ each time, and without instructions. */
  readonly note: string;
}

interface ProblemFacts {
  /** What keeps each DaemonSet from being patched. */
  readonly blockedBy: ReadonlyMap<RunningDaemonSet, PatchBlockedBy | undefined>;
  readonly stalledMs: number;
  /** The message of the API server, if it refused the last patch. It may be about to get the patch again. */
  refusal(daemonSet: RunningDaemonSet): string | undefined;
  /** The writer that removed the tolerations again, in words. */
  otherWriter(daemonSet: RunningDaemonSet): string;
  /** Names of the policies that patch the DaemonSet, whether or not it lacks tolerations. */
  patchingPolicies(daemonSet: RunningDaemonSet): string[];
}

/** A problem of one DaemonSet, before it is told to each policy. */
interface CommonProblem {
  readonly policies: readonly string[];
  /** See {@link DaemonSetProblem}. */
  readonly note: (policy: string) => string;
  /** The rest of the message. */
  readonly more: string;
}

/** The problems that prevent tolerations from being added, for each policy that requires them. */
export function daemonSetProblems(facts: ProblemFacts): DaemonSetProblem[] {
  const { stalledMs } = facts;
  const daemonSets = [...facts.blockedBy];
  const waiting = daemonSets.filter(([, blockedBy]) => isAwaitingPatch(blockedBy));
  const awaited = [...new Set(waiting.flatMap(([daemonSet]) => policiesOf(daemonSet)))];
  const lasting = `for ${Math.round(stalledMs / 60_000)} minutes`;
  return daemonSets.flatMap(([daemonSet, blockedBy]) =>
    problemsOf(daemonSet, blockedBy).flatMap(({ policies, note, more }) =>
      [...new Set(policies)].map((policy) => ({
        kind: 'TolerationPolicy',
        policy,
        reason: 'TolerationMissing',
        message: `${titleOf(daemonSet)} ${note(policy)}${more}`,
        daemonSet,
        note: note(policy),
      })),
    ),
  );

  function problemsOf(daemonSet: RunningDaemonSet, blockedBy: PatchBlockedBy | undefined): CommonProblem[] {
    const { rollout, patched } = daemonSet;
    const refusal = isAwaitingPatch(blockedBy) ? facts.refusal(daemonSet) : undefined;
    const policies = policiesOf(daemonSet);
    const lacks = (policy: string) => `lacks toleration ${listMissing(daemonSet, policy)}`;
    const problems = [
      blockedBy === 'RemovedAgain' && {
        policies,
        note: (policy: string) =>
          `got toleration ${listMissing(daemonSet, policy)}, and it was removed again: it is not added any more`,
        more: ` (${facts.otherWriter(daemonSet)}). ${PUT_BACK_ADVICE}`,
      },
      blockedBy === 'TooManyTolerations' && {
        policies,
        note: (policy: string) =>
          `${lacks(policy)} and is not patched: it has more than ${MAX_TOLERATIONS} tolerations`,
        more: `. ${TOO_MANY_ADVICE}`,
      },
      patched &&
        rollout.stalled && {
          // After the rollout, failing pods are a problem only if another DaemonSet waits.
          policies: [...(rollout.rolledOut ? [] : facts.patchingPolicies(daemonSet)), ...awaited],
          note: () => `got tolerations, and its pods have not all been replaced and available ${lasting}`,
          more: `. ${STALLED_ADVICE}`,
        },
      refusal !== undefined && {
        policies,
        note: (policy: string) => `${lacks(policy)} and the API server refuses the patch or gives no answer`,
        more: `: ${refusal}`,
      },
      !patched &&
        blockedBy === 'Stalled' && {
          policies,
          note: (policy: string) =>
            `${lacks(policy)} and is not patched: its pods have not all been available ${lasting}`,
          more: '',
        },
    ];
    return problems.filter((one) => one !== false);
  }
}

const PUT_BACK_ADVICE =
  `Add the toleration at the source, or opt out with the annotation ${IGNORE_ANNOTATION}=true; ` +
  `to have it tried again, opt out, remove the annotation ${ADDED_ANNOTATION}, and opt in`;
const TOO_MANY_ADVICE = `Remove tolerations that its pods do not need, or opt out with the annotation ${IGNORE_ANNOTATION}=true`;
const STALLED_ADVICE = `No other DaemonSet is patched until they are, or it opts out with the annotation ${IGNORE_ANNOTATION}=true`;
