import { optsOut } from '../policy/daemon-set.ts';
import { addedHere, addedTolerations, judgeRunningDaemonSet, recordOfAdded } from '../policy/daemon-set-repair.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { type DaemonSets, type Nodes, unreadyNodes } from './cluster-objects.ts';
import { watchRollouts } from './rollout-watch.ts';
import type { RunningDaemonSet } from './running-daemon-set.ts';

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
