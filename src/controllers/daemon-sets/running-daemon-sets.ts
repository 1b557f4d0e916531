import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../cluster/watch/cluster-objects.ts';
import { addedHere, addedTolerations, recordOfAdded } from '../../judge/added-tolerations.ts';
import { hasTooManyTolerations } from '../../judge/daemon-set-view.ts';
import { exclusionOf } from '../../judge/patch-blocked-by.ts';
import { judgeRunningDaemonSet } from '../../judge/request/daemon-set.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import type { CompiledTolerationPolicy, PolicySet } from '../../policy/policy-set.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/policy-status.ts';
import { oncePer } from '../../runtime/once-per.ts';
import type { Nodes, WatchedDaemonSets } from '../cluster-watches.ts';
import { type RunningDaemonSet, titleOf } from './daemon-set-writer.ts';
import { watchRollouts } from './rollout-watch.ts';

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
   * @param installation see {@link addedHere}
   */
  inspect(now: number, installation: string | undefined): RunningDaemonSet[];
  /** Records that the DaemonSet was patched. @param installation as in {@link inspect} */
  patched(daemonSet: RunningDaemonSet, installation: string | undefined): void;
  /** The DaemonSets that the policy has patched, for its status. The status has room for the last ones, so those that only an annotation names come first. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
}

/** The tolerations that were added to a DaemonSet for one policy. */
interface Given {
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
  const given = new Map<string, Map<string, Given>>();
  let places = 0;
  for (const { kind, name, status } of options.policies()) {
    if (kind !== 'TolerationPolicy') continue;
    for (const to of (status as PolicyStatus | undefined)?.patched ?? []) record(name, { to });
  }

  return {
    inspect(now, installation) {
      const policies = compiled();
      const unready = unreadyNodes(nodes);
      const entries = [...daemonSets.entries()];
      const exclusions = new Map(entries.map((entry) => [entry.uid, exclusionOfEntry(entry)]));
      for (const uid of given.keys()) {
        // When the owner opts in again, the tolerations are added again.
        if (!exclusions.has(uid) || exclusions.get(uid) === 'Excluded') given.delete(uid);
      }
      const found = entries.flatMap((entry): RunningDaemonSet[] => {
        if (exclusions.get(entry.uid) !== undefined) return [];
        const { value } = entry;
        const claims = claimsOf(value, policies);
        const here = new Set(addedHere(value.annotations, installation));
        const known = new Set(givenTo(entry.uid, installation));
        // A leader that was killed may have left its status unwritten.
        for (const [policy, texts] of claims) {
          give(
            entry,
            policy,
            texts.filter((text) => here.has(text) && !known.has(text)),
            installation,
            { isClaim: true },
          );
        }
        const decision = judgeRunningDaemonSet(value, policies);
        const added = new Set(givenTo(entry.uid, installation));
        const patched = added.size > 0 || claims.size > 0;
        if (decision.violations.length === 0 && !patched) return [];
        return [
          {
            entry,
            lacks: decision.violations,
            isUndone: decision.violations.some(({ subject }) => added.has(subject)),
            tooManyTolerations: hasTooManyTolerations(value),
            patched,
            record: recordOfAdded(value, decision.violations, installation),
            tolerations: decision.action === 'patch' ? decision.desired.tolerations : value.tolerations,
            rollout: rollouts.observe(entry.uid, value, unready, now),
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
    patchedBy(policy) {
      const own = [...given.values()].flatMap((byPolicy) => byPolicy.get(policy) ?? []);
      const isLate = ({ isClaim }: Given) => Number(isClaim === undefined);
      return own.sort((a, b) => isLate(a) - isLate(b) || a.place - b.place).map(({ to }) => to);
    },
  };

  function exclusionOfEntry({ namespace: inNamespace, name, value }: Entry<ClusterDaemonSet>) {
    return exclusionOf(value, { ownNamespace: namespace, isKept: !daemonSets.isStale(name, inNamespace) });
  }

  function give(
    entry: Entry<ClusterDaemonSet>,
    policy: string,
    texts: readonly string[],
    installation: string | undefined,
    how: Pick<Given, 'isClaim'> = {},
  ) {
    if (texts.length === 0) return;
    const { namespace, name, uid } = entry;
    const known = given.get(uid)?.get(policy);
    const before = known?.to;
    const isOther = before !== undefined && !isOf(before, installation);
    const tolerations = [...new Set([...(isOther ? [] : (before?.tolerations ?? [])), ...texts])];
    record(policy, {
      to: { namespace, name, uid, tolerations, ...(installation === undefined ? {} : { installation }) },
      ...(known && !known.isClaim ? {} : how),
    });
  }

  /** The latest is the last one in the status. */
  function record(policy: string, one: Omit<Given, 'place'>) {
    const byPolicy = given.get(one.to.uid) ?? new Map<string, Given>();
    given.set(one.to.uid, byPolicy.set(policy, { ...one, place: places++ }));
  }

  /** For any policy. */
  function givenTo(uid: string, installation: string | undefined): string[] {
    const found = [...(given.get(uid)?.values() ?? [])];
    return found.flatMap(({ to }) => (isOf(to, installation) ? to.tolerations : []));
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
function isOf(to: PatchedDaemonSet, installation: string | undefined): boolean {
  return to.installation === undefined || installation === undefined || to.installation === installation;
}

/** The nodes that are not Ready, by name. Their pods may never become ready. */
function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}
