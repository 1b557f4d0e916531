import type { ClusterDaemonSet, ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { recordOfAdded } from '../../judge/added-tolerations.ts';
import { hasTooManyTolerations } from '../../judge/daemon-set-view.ts';
import { exclusionOf } from '../../judge/patch-blocked-by.ts';
import { judgeRunningDaemonSet } from '../../judge/request/daemon-set.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { Nodes, WatchedDaemonSets } from '../cluster-watches.ts';
import type { AddedRecord } from './added-record.ts';
import type { RolloutWatch, Times } from './rollout-watch.ts';
import { type RunningDaemonSet, titleOf } from './running-daemon-set.ts';

export interface InspectionOptions {
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Nodes;
  readonly daemonSets: WatchedDaemonSets;
  readonly policies: PolicySet;
  readonly record: AddedRecord;
  readonly rollouts: RolloutWatch;
}

/**
 * Returns the DaemonSets that lack tolerations, and those that were patched, in the order of their names. It also notes in the record what their
 * annotations say, and the state of their rollouts.
 * @param installationUid see {@link AddedRecord}
 */
export function inspectDaemonSets(
  { namespace, nodes, daemonSets, policies, record, rollouts }: InspectionOptions,
  times: Times,
  installationUid: string | undefined,
): RunningDaemonSet[] {
  const unready = unreadyNodes(nodes);
  const found = entriesNotExcluded().flatMap((entry): RunningDaemonSet[] => {
    const { uid, value } = entry;
    const isClaimed = record.readAnnotation(entry, policies, installationUid);
    const decision = judgeRunningDaemonSet(value, policies);
    const missing = decision.violations;
    const added = new Set(record.addedTo(uid, installationUid));
    const patched = added.size > 0 || isClaimed;
    if (missing.length === 0 && !patched) return [];
    return [
      {
        entry,
        missing,
        isUndone: missing.some(({ subject }) => added.has(subject)),
        tooManyTolerations: hasTooManyTolerations(value),
        patched,
        annotations: recordOfAdded(value, missing, installationUid),
        tolerations: decision.action === 'patch' ? decision.desired.tolerations : value.tolerations,
        rollout: rollouts.observe(uid, value, unready, times),
      },
    ];
  });
  rollouts.retain(new Set(found.map(({ entry }) => entry.uid)));
  return found.sort((a, b) => (titleOf(a) < titleOf(b) ? -1 : 1));

  /** When the owner of an excluded DaemonSet opts in again, the tolerations are added again. */
  function entriesNotExcluded(): Entry<ClusterDaemonSet>[] {
    const exclusions = Array.from(daemonSets.entries(), (entry) => {
      const isKept = !daemonSets.isUnreadable(entry.name, entry.namespace);
      return { entry, exclusion: exclusionOf(entry.value, { ownNamespace: namespace, isKept }) };
    });
    record.retain(new Set(exclusions.flatMap(({ entry, exclusion }) => (exclusion === 'Excluded' ? [] : entry.uid))));
    return exclusions.flatMap(({ entry, exclusion }) => (exclusion === undefined ? entry : []));
  }
}

/** The nodes that are not Ready, by name. Their pods may never become ready. */
function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}
