import type { ClusterDaemonSet, ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { addedHere, addedTolerations, recordOfAdded } from '../../judge/added-tolerations.ts';
import { hasTooManyTolerations } from '../../judge/daemon-set-view.ts';
import { exclusionOf } from '../../judge/patch-blocked-by.ts';
import { judgeRunningDaemonSet } from '../../judge/request/daemon-set.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { oncePer } from '../../runtime/once-per.ts';
import type { Nodes, WatchedDaemonSets } from '../cluster-watches.ts';
import { type Times, watchRollouts } from './rollout-watch.ts';
import { policiesOf, type RunningDaemonSet, titleOf } from './running-daemon-set.ts';

interface RunningDaemonSetsOptions {
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Nodes;
  readonly daemonSets: WatchedDaemonSets;
  readonly compiled: () => PolicySet;
  /** The policies at the start of the leader. Their status lists what earlier leaders have patched. */
  readonly policies: () => readonly PolicyObject[];
  /** A DaemonSet counts as stable after it has been healthy for this time. */
  readonly stableMs: number;
  /** An unhealthy DaemonSet counts as stalled after this time without progress. */
  readonly stalledMs: number;
}

interface RunningDaemonSets {
  /**
   * Returns the DaemonSets that lack tolerations, and those that were patched, in the order of their names.
   * @param installationUid see {@link addedHere}
   */
  inspect(times: Times, installationUid: string | undefined): RunningDaemonSet[];
  /** Records that the DaemonSet was patched. @param installationUid as in {@link inspect} */
  recordPatched(daemonSet: RunningDaemonSet, installationUid: string | undefined): void;
  /** The DaemonSets that the policy has patched, for its status. The status has room for the last ones, so those that only an annotation names come first. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
}

/** The tolerations that were added to a DaemonSet for one policy. */
interface Added {
  readonly to: PatchedDaemonSet;
  /** Its place in the order in which they were added. */
  readonly place: number;
  /** Only the annotation says so, which the author of the DaemonSet can write. */
  readonly isClaim?: true;
}

/**
 * The tolerations that were added to a DaemonSet are recorded in three places:
 * - in its annotation, which is written with the tolerations;
 * - in the status of the policy, because the owner of the DaemonSet can replace it with its annotation;
 * - here, until the status is written.
 */
export function runningDaemonSets(options: RunningDaemonSetsOptions): RunningDaemonSets {
  const { namespace, nodes, daemonSets, compiled, stableMs, stalledMs } = options;
  const rollouts = watchRollouts({ stableMs, stalledMs });
  /** By the uid of the DaemonSet, and then by the policy. */
  const additions = new Map<string, Map<string, Added>>();
  let places = 0;
  for (const { kind, name, status } of options.policies()) {
    if (kind !== 'TolerationPolicy') continue;
    for (const to of (status as PolicyStatus | undefined)?.patched ?? []) put(name, { to });
  }

  return {
    inspect(times, installationUid) {
      const policies = compiled();
      const entries = entriesNotExcluded();
      const claims = new Map(entries.map((entry) => [entry, claimsOf(entry.value, policies)]));
      recordClaims(claims, installationUid);
      const unready = unreadyNodes(nodes);
      const found = entries.flatMap((entry): RunningDaemonSet[] => {
        const { uid, value } = entry;
        const decision = judgeRunningDaemonSet(value, policies);
        const missing = decision.violations;
        const added = new Set(addedTo(uid, installationUid));
        const patched = added.size > 0 || (claims.get(entry)?.size ?? 0) > 0;
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
    },
    recordPatched(daemonSet, installationUid) {
      const { entry, missing } = daemonSet;
      for (const policy of policiesOf(daemonSet)) {
        recordAdded(
          entry,
          policy,
          missing.filter((one) => one.policy === policy).map(({ subject }) => subject),
          installationUid,
        );
      }
    },
    patchedBy(policy) {
      const own = [...additions.values()].flatMap((byPolicy) => byPolicy.get(policy) ?? []);
      const isLate = ({ isClaim }: Added) => Number(isClaim === undefined);
      return own.sort((a, b) => isLate(a) - isLate(b) || a.place - b.place).map(({ to }) => to);
    },
  };

  /** When the owner of an excluded DaemonSet opts in again, the tolerations are added again. */
  function entriesNotExcluded(): Entry<ClusterDaemonSet>[] {
    const entries = [...daemonSets.entries()];
    const exclusions = new Map(entries.map((entry) => [entry.uid, exclusionOfEntry(entry)]));
    for (const uid of additions.keys()) {
      if (!exclusions.has(uid) || exclusions.get(uid) === 'Excluded') additions.delete(uid);
    }
    return entries.filter(({ uid }) => exclusions.get(uid) === undefined);
  }

  /** A leader that was killed may have left its status unwritten. */
  function recordClaims(
    claims: ReadonlyMap<Entry<ClusterDaemonSet>, ReadonlyMap<string, readonly string[]>>,
    installationUid: string | undefined,
  ): void {
    for (const [entry, byPolicy] of claims) {
      const here = new Set(addedHere(entry.value.annotations, installationUid));
      const known = new Set(addedTo(entry.uid, installationUid));
      for (const [policy, texts] of byPolicy) {
        const unrecorded = texts.filter((text) => here.has(text) && !known.has(text));
        recordAdded(entry, policy, unrecorded, installationUid, { isClaim: true });
      }
    }
  }

  function exclusionOfEntry({ namespace: inNamespace, name, value }: Entry<ClusterDaemonSet>) {
    return exclusionOf(value, { ownNamespace: namespace, isKept: !daemonSets.isUnreadable(name, inNamespace) });
  }

  function recordAdded(
    entry: Entry<ClusterDaemonSet>,
    policy: string,
    texts: readonly string[],
    installationUid: string | undefined,
    how: Pick<Added, 'isClaim'> = {},
  ) {
    if (texts.length === 0) return;
    const { namespace, name, uid } = entry;
    const known = additions.get(uid)?.get(policy);
    const before = known?.to;
    const isOther = before !== undefined && !isOf(before, installationUid);
    const tolerations = [...new Set([...(isOther ? [] : (before?.tolerations ?? [])), ...texts])];
    put(policy, {
      to: {
        namespace,
        name,
        uid,
        tolerations,
        ...(installationUid === undefined ? {} : { installation: installationUid }),
      },
      ...(known && !known.isClaim ? {} : how),
    });
  }

  /** The latest is the last one in the status. */
  function put(policy: string, one: Omit<Added, 'place'>) {
    const byPolicy = additions.get(one.to.uid) ?? new Map<string, Added>();
    additions.set(one.to.uid, byPolicy.set(policy, { ...one, place: places++ }));
  }

  /** For any policy. */
  function addedTo(uid: string, installationUid: string | undefined): string[] {
    const found = [...(additions.get(uid)?.values() ?? [])];
    return found.flatMap(({ to }) => (isOf(to, installationUid) ? to.tolerations : []));
  }
}

/**
 * What the annotation says that policies added, by policy. Every user who may create a DaemonSet can write that annotation, so it counts only for
 * tolerations that a policy asks of this DaemonSet: the leader adds no others.
 */
function claimsOf(daemonSet: ClusterDaemonSet, { tolerationPolicies }: PolicySet): Map<string, string[]> {
  const texts = [...new Set(addedTolerations(daemonSet.annotations))];
  if (texts.length === 0) return new Map();
  const asking = tolerationPolicies.filter((one) => one.patchesExisting && one.selectsDaemonSet(daemonSet));
  return new Map(
    asking.flatMap((policy) => {
      const claimed = texts.filter((text) => askedBy(policy).has(text));
      return claimed.length === 0 ? [] : [[policy.name, claimed] as const];
    }),
  );
}

/** The tolerations that the policy asks for, as the annotation names them. */
const askedBy = oncePer(
  ({ tolerations }: CompiledTolerationPolicy) => new Set(tolerations.map(({ value }) => formatToleration(value))),
);

/** Whether this installation added the tolerations, as in {@link addedHere}. */
function isOf(to: PatchedDaemonSet, installationUid: string | undefined): boolean {
  return to.installation === undefined || installationUid === undefined || to.installation === installationUid;
}

/** The nodes that are not Ready, by name. Their pods may never become ready. */
function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}
