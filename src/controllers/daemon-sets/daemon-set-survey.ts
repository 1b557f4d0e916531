import { IGNORE_ANNOTATION, optsOut } from '../../judge/daemon-set.ts';
import {
  ADDED_ANNOTATION,
  addedHere,
  addedTolerations,
  judgeRunningDaemonSet,
  recordOfAdded,
} from '../../judge/daemon-set-repair.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { Trouble } from '../reports.ts';
import { type DaemonSets, type Nodes, unreadyNodes } from '../sources.ts';
import { listLacks, policiesOf, type RunningDaemonSet, titleOf } from './daemon-set-writer.ts';
import { watchRollouts } from './rollout-watch.ts';

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
        `got toleration ${listLacks(daemonSet, policy)}, and it was removed again: it is not added any more`;
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
      const note = (policy: string) =>
        `lacks toleration ${listLacks(daemonSet, policy)} and the API server refuses the patch`;
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

export interface SurveyOptions {
  /** Left out: taintkeeper's own. */
  readonly namespace: string;
  readonly nodes: Nodes;
  readonly daemonSets: DaemonSets;
  readonly compiled: () => PolicySet;
  /** How long a DaemonSet has to be healthy before that counts. */
  readonly settleMs: number;
  /** How long one that is not makes no progress before somebody should look. */
  readonly stalledMs: number;
}

export interface DaemonSetSurvey {
  /**
   * Those that lack tolerations, and those that got some while they ran; by namespace and name.
   * @param installation see {@link addedHere}
   */
  look(now: number, installation: string | undefined): RunningDaemonSet[];
  /** It got what it lacked. */
  patched(daemonSet: RunningDaemonSet): void;
}

export function daemonSetSurvey(options: SurveyOptions): DaemonSetSurvey {
  const { namespace, nodes, daemonSets, compiled } = options;
  const rollouts = watchRollouts(options);
  /** What each got, by uid: whoever writes the whole object takes the annotation out, too. */
  const given = new Map<string, readonly string[]>();

  return {
    look(now, installation) {
      const policies = compiled();
      const unready = unreadyNodes(nodes);
      const entries = [...daemonSets.entries()].filter((entry) => entry.namespace !== namespace);
      const found = entries.flatMap((entry): RunningDaemonSet[] => {
        const { uid, value } = entry;
        if (value.deleting || optsOut(value)) {
          // Whoever opts in again wants it tried again.
          given.delete(uid);
          return [];
        }
        const annotated = addedHere(value.annotations, installation);
        const added = new Set([...annotated, ...(given.get(uid) ?? [])]);
        const patched = added.size > 0 || addedTolerations(value.annotations).length > 0;
        const decision = judgeRunningDaemonSet(value, policies);
        if (decision.violations.length === 0 && !patched) return [];
        const lost = decision.violations.filter(({ subject }) => added.has(subject));
        // The annotation has outlived the tolerations, and from now on speaks for itself: without it, all is as at first.
        if (lost.length > 0 && lost.every(({ subject }) => annotated.includes(subject))) given.delete(uid);
        return [
          {
            entry,
            lacks: decision.violations,
            putBack: lost.length > 0,
            patched,
            record: recordOfAdded(value, decision.violations, installation),
            tolerations: decision.verdict === 'patch' ? decision.desired.tolerations : value.tolerations,
            standing: rollouts.look(uid, value, unready, now),
          },
        ];
      });
      rollouts.retain(new Set(found.map(({ entry }) => entry.uid)));
      const there = new Set(entries.map(({ uid }) => uid));
      for (const uid of given.keys()) if (!there.has(uid)) given.delete(uid);
      return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    },
    patched({ entry, lacks }) {
      given.set(
        entry.uid,
        lacks.map(({ subject }) => subject),
      );
    },
  };
}

function keyOf({ entry }: RunningDaemonSet): string {
  return `${entry.namespace}/${entry.name}`;
}
