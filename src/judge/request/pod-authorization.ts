import { givenEffects } from '../../kubernetes/daemon-tolerations.ts';
import { matchesPattern } from '../../kubernetes/pattern.ts';
import { SYSTEM_ADMIN, SYSTEM_PREFIX } from '../../kubernetes/system-users.ts';
import type { Toleration } from '../../kubernetes/toleration.ts';
import type {
  CompiledTolerationRestriction,
  RestrictedTaint,
  RestrictionMode,
} from '../../policy/toleration-restriction.ts';
import type { ToleratingPod } from '../tolerator.ts';

/** The right that a pod's service account, or the person who creates the pod, must have. The resource name is the key of the taint. */
export const TOLERATE = { apiGroup: 'taintkeeper.dev', resource: 'taints', verb: 'tolerate' } as const;

/** The user who creates a pod, and whether a controller does so. */
export interface PodCreator {
  readonly user: string;
  /** Whether the pod has an owner reference with `controller: true`, which every workload controller sets. */
  readonly hasController: boolean;
}

/**
 * True when the creator's own right counts, besides that of the pod's service account. A controller creates pods for others, so its
 * right proves nothing about them. A controller is a service account, a user of the system, or the author of a pod that has a controller.
 * The last one covers controllers that run with the credentials of a person, such as a controller manager with the file of an administrator.
 */
export function isPerson({ user, hasController }: PodCreator): boolean {
  return !hasController && (user === SYSTEM_ADMIN || !user.startsWith(SYSTEM_PREFIX));
}

/** A key, and the taints with it that one TolerationRestriction names. */
export interface RestrictedKey {
  readonly key: string;
  readonly taints: readonly RestrictedTaint[];
  /** The fields of the taints, for example `spec.taints[0]`. */
  readonly fields: readonly string[];
  /** Whether a new pod with a `nodeName` needs authorization: it bypasses the scheduler, which enforces all effects except NoExecute. */
  readonly restrictsNodeName: boolean;
}

/** The keys that only authorized pods may tolerate, in the order of the policy. */
export function restrictedKeys({ taints }: Pick<CompiledTolerationRestriction, 'taints'>): RestrictedKey[] {
  return [...Map.groupBy(taints, ({ key }) => key)].map(([key, some]) => ({
    key,
    taints: some,
    fields: some.map(({ field }) => field),
    restrictsNodeName: some.some(({ effect }) => effect !== 'NoExecute'),
  }));
}

/**
 * True when the toleration tolerates the restricted taint. Tolerations that Kubernetes itself adds to pods do not count. An operator
 * other than `Exists` and `Equal` (`Gt` and `Lt` of KEP-5471) counts as tolerating every value.
 */
function needsAuthorization({ key, operator, value, effect }: Toleration, taint: RestrictedTaint): boolean {
  if (key && key !== taint.key) return false;
  if (effect && taint.effect !== undefined && effect !== taint.effect) return false;
  if (givenEffects(key).some((given) => given === effect)) return false;
  return taint.value === undefined || !['', 'Equal'].includes(operator ?? '') || (value ?? '') === taint.value;
}

/** A restricted key for which a pod needs authorization. */
export interface NeededAuthorization {
  readonly policy: string;
  readonly mode: RestrictionMode;
  readonly key: string;
  readonly fields: readonly string[];
  /** The tolerations of the pod that need authorization. Empty if only its nodeName does. */
  readonly tolerations: readonly Toleration[];
}

/** The authorizations that the native policies of the TolerationRestrictions require for a new pod. */
export function neededAuthorizations(
  { namespace, nodeName, tolerations }: ToleratingPod,
  restrictions: readonly CompiledTolerationRestriction[],
): NeededAuthorization[] {
  return restrictions.flatMap((restriction) => {
    const { name: policy, mode, exceptNamespaces } = restriction;
    if (exceptNamespaces.some((pattern) => matchesPattern(pattern, namespace))) return [];
    return restrictedKeys(restriction).flatMap(({ key, taints, fields, restrictsNodeName }) => {
      const found = tolerations.filter((toleration) => taints.some((taint) => needsAuthorization(toleration, taint)));
      const isNeeded = found.length > 0 || (restrictsNodeName && nodeName !== '');
      return isNeeded ? [{ policy, mode, key, fields, tolerations: found }] : [];
    });
  });
}
