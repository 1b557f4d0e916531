import type { ClusterDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { oncePer } from '../../collections/once-per.ts';
import { addedHere, addedTolerations } from '../../judge/added-tolerations.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { policiesOf, type RunningDaemonSet } from './running-daemon-set.ts';

/**
 * Which tolerations were added to DaemonSets, and for which policies. In each method, `installationUid` is that of {@link addedHere}.
 *
 * It is recorded in three places:
 * - in the annotation of the DaemonSet, which is written with the tolerations;
 * - in the status of the policy, because the owner of the DaemonSet can replace it with its annotation;
 * - here, until the status is written.
 */
export interface AddedRecord {
  /**
   * Records what the annotation claims: a leader that was killed may have left its status unwritten.
   * @returns whether it claims that a policy added tolerations
   */
  readAnnotation(entry: Entry<ClusterDaemonSet>, policies: PolicySet, installationUid: string | undefined): boolean;
  /** Records that the missing tolerations were added to the DaemonSet. */
  patched(daemonSet: RunningDaemonSet, installationUid: string | undefined): void;
  /** What this installation added to the DaemonSet, for any policy. */
  addedTo(uid: string, installationUid: string | undefined): string[];
  /** The DaemonSets that the policy has patched, for its status. The status has room for the last ones, so those that only an annotation names come first. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
  /** Forgets all other DaemonSets. */
  retain(uids: ReadonlySet<string>): void;
}

/** The tolerations that were added to a DaemonSet for one policy. */
interface Added {
  readonly to: PatchedDaemonSet;
  /** Its place in the order in which they were added. */
  readonly place: number;
  /** Only the annotation says so, which the author of the DaemonSet can write. */
  readonly isClaim?: true;
}

/** @param policies at the start of the leader. Their status lists what earlier leaders have patched */
export function addedRecord(policies: readonly PolicyObject[]): AddedRecord {
  /** By the uid of the DaemonSet, and then by the policy. */
  const additions = new Map<string, Map<string, Added>>();
  let places = 0;
  for (const { kind, name, status } of policies) {
    if (kind !== 'TolerationPolicy') continue;
    for (const to of (status as PolicyStatus | undefined)?.patched ?? []) put(name, { to });
  }

  return {
    readAnnotation(entry, policies, installationUid) {
      const claims = claimsOf(entry.value, policies);
      const here = new Set(addedHere(entry.value.annotations, installationUid));
      const known = new Set(addedTo(entry.uid, installationUid));
      for (const [policy, texts] of claims) {
        const unrecorded = texts.filter((text) => here.has(text) && !known.has(text));
        add(entry, policy, unrecorded, installationUid, { isClaim: true });
      }
      return claims.size > 0;
    },
    patched(daemonSet, installationUid) {
      const { entry, missing } = daemonSet;
      for (const policy of policiesOf(daemonSet)) {
        const texts = missing.filter((one) => one.policy === policy).map(({ subject }) => subject);
        add(entry, policy, texts, installationUid);
      }
    },
    addedTo,
    patchedBy(policy) {
      const own = [...additions.values()].flatMap((byPolicy) => byPolicy.get(policy) ?? []);
      const isLate = ({ isClaim }: Added) => Number(isClaim === undefined);
      return own.sort((a, b) => isLate(a) - isLate(b) || a.place - b.place).map(({ to }) => to);
    },
    retain(uids) {
      for (const uid of additions.keys()) if (!uids.has(uid)) additions.delete(uid);
    },
  };

  function addedTo(uid: string, installationUid: string | undefined): string[] {
    const found = [...(additions.get(uid)?.values() ?? [])];
    return found.flatMap(({ to }) => (isOf(to, installationUid) ? to.tolerations : []));
  }

  function add(
    { namespace, name, uid }: Entry<ClusterDaemonSet>,
    policy: string,
    texts: readonly string[],
    installationUid: string | undefined,
    how: Pick<Added, 'isClaim'> = {},
  ): void {
    if (texts.length === 0) return;
    const known = additions.get(uid)?.get(policy);
    const before = known && isOf(known.to, installationUid) ? known.to.tolerations : [];
    const tolerations = [...new Set([...before, ...texts])];
    const installation = installationUid === undefined ? {} : { installation: installationUid };
    put(policy, {
      to: { namespace, name, uid, tolerations, ...installation },
      ...(known && !known.isClaim ? {} : how),
    });
  }

  /** The latest is the last one in the status. */
  function put(policy: string, one: Omit<Added, 'place'>): void {
    const byPolicy = additions.get(one.to.uid) ?? new Map<string, Added>();
    additions.set(one.to.uid, byPolicy.set(policy, { ...one, place: places++ }));
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
