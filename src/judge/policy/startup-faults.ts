import { oncePer } from '../../collections/once-per.ts';
import { daemonTolerates } from '../../kubernetes/daemon-tolerations.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { type Toleration, tolerates } from '../../kubernetes/toleration.ts';
import type { CompiledTaintPolicy, UntilReadyTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { policiesFor } from '../../policy/policy-index.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { selectionOverlap } from './selection-overlap.ts';

/** What keeps a startup taint from being removed. */
export interface StartupFault {
  readonly reason:
    | 'DaemonSetNotFound'
    | 'DaemonSetUnreadable'
    | 'DaemonSetDoesNotTolerate'
    | 'DaemonSetSelectsNoNode'
    | 'TaintkeeperDoesNotTolerate'
    | 'UnknownPart'
    | 'StartupTaintProtected';
  readonly message: string;
  /** A shorter text, for a warning on apply. */
  readonly warning: string;
}

export interface StartupSurroundings {
  /** Those that the policy sets or protects, perhaps with those of other policies. */
  readonly protectedStartupTaints: readonly ProtectedStartupTaint[];
  readonly daemonSetOf: (one: ReadyDaemonSet) =>
    | { readonly tolerations: readonly Toleration[]; readonly hostNetwork: boolean }
    | 'Unreadable'
    /** Nothing is said of it. */
    | 'NotRead'
    | undefined;
  /** Taintkeeper's own pods. */
  readonly replicas: readonly { readonly tolerations: readonly Toleration[] }[];
}

/** The problems of a policy that sets startup taints, or protects those of another one. Also with `--audit`, so that a trial finds them. */
export function startupFaults(policy: CompiledTaintPolicy, surroundings: StartupSurroundings): StartupFault[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  return [
    ...policy.untilReady.flatMap((one) => waitingFaults(one, surroundings)),
    ...surroundings.protectedStartupTaints.flatMap((one) => protectionFaults(policy, one)),
  ];
}

function waitingFaults(
  { taint, parts, unknownParts, field }: UntilReadyTaint,
  { daemonSetOf, replicas }: StartupSurroundings,
): StartupFault[] {
  const short = `taint ${formatTaint(taint)}`;
  const long = `${short} (${field})`;
  const ofParts = unknownParts.map((unknown): StartupFault => {
    const text = (what: string) => `${unknown} is not known to this version of taintkeeper: nodes keep ${what}`;
    const message = `${text(long)}. Run the version that the CustomResourceDefinition belongs to, or remove the field`;
    return { reason: 'UnknownPart', message, warning: text(short) };
  });
  const ofDaemonSets = parts.daemonSets.flatMap((one): StartupFault[] => {
    const name = `DaemonSet ${daemonSetName(one)}`;
    const daemonSet = daemonSetOf(one);
    if (daemonSet === 'NotRead') return [];
    if (!daemonSet) {
      const text = (what: string) => `${name} does not exist: new nodes wait with ${what}`;
      return [{ reason: 'DaemonSetNotFound', message: text(long), warning: text(short) }];
    }
    if (daemonSet === 'Unreadable') {
      const text = (what: string) => `the leader cannot read ${name}: new nodes wait with ${what}`;
      const message = `${text(long)}. Make the DaemonSet smaller; the log of the leader says what is wrong with it`;
      return [{ reason: 'DaemonSetUnreadable', message, warning: text(short) }];
    }
    if (daemonTolerates(daemonSet, taint)) return [];
    const text = (what: string) => `${name} does not tolerate ${what}, which waits for it`;
    const message = `${text(long)}: new nodes wait with the taint. Add the toleration to the DaemonSet`;
    return [{ reason: 'DaemonSetDoesNotTolerate', message, warning: text(short) }];
  });
  const isTolerated = replicas.every(({ tolerations }) => tolerations.some((one) => tolerates(one, taint)));
  if (isTolerated) return [...ofParts, ...ofDaemonSets];
  const text = (what: string) => `the pods of taintkeeper do not tolerate ${what}`;
  const message = `${text(long)}: in a cluster with only new nodes, taintkeeper could not run to remove it. Add the toleration to its Deployment`;
  return [...ofParts, ...ofDaemonSets, { reason: 'TaintkeeperDoesNotTolerate', message, warning: text(short) }];
}

/** A startup taint with its field and its policy, and the field of the policy that protects it by its exact key, on nodes that both policies select. */
export interface ProtectedStartupTaint {
  readonly taint: Taint;
  readonly field: string;
  readonly of: CompiledTaintPolicy;
  readonly protectingField: string;
  readonly by: CompiledTaintPolicy;
}

/** All of them among policies that were compiled together. */
export const protectedStartupTaintsAmong = oncePer(
  (policies: readonly CompiledTaintPolicy[]): ProtectedStartupTaint[] =>
    policies.flatMap((of) => protectedStartupTaintsBetween(of, policies)),
);

/** Those that one of these policies sets or protects, without a comparison of the others. */
export function protectedStartupTaintsOf(
  policy: CompiledTaintPolicy,
  policies: readonly CompiledTaintPolicy[],
): ProtectedStartupTaint[] {
  return policies.flatMap((of) => protectedStartupTaintsBetween(of, of === policy ? policies : [policy]));
}

/** The startup taints of a policy that one of these policies protects. */
function protectedStartupTaintsBetween(
  of: CompiledTaintPolicy,
  policies: readonly CompiledTaintPolicy[],
): ProtectedStartupTaint[] {
  if (!isEnforcedWithoutAudit(of)) return [];
  return of.startup.flatMap(({ taint, field }) =>
    policiesFor(policies, taint.key).flatMap((by) => {
      const protectingField = isEnforcedWithoutAudit(by) ? by.protectingRule(taint)?.field : undefined;
      // Whether two selectors overlap takes longest to find out.
      if (protectingField === undefined || selectionOverlap(of, by, []) === undefined) return [];
      return [{ taint, field, of, protectingField, by }];
    }),
  );
}

/** A fault of both policies. */
function protectionFaults(
  policy: CompiledTaintPolicy,
  { taint, field, of, protectingField, by }: ProtectedStartupTaint,
): StartupFault[] {
  if (policy !== of && policy !== by) return [];
  const what = `startup taint ${formatTaint(taint)}`;
  const warning =
    by === policy
      ? `${protectingField} protects ${what} of TaintPolicy ${of.name}, which stays`
      : `TaintPolicy ${by.name} (${protectingField}) protects ${what}, which stays`;
  const message = `${protectingField} of TaintPolicy ${by.name} protects ${what} (${field} of TaintPolicy ${of.name}), so the taint stays: remove the key from ${protectingField}`;
  return [{ reason: 'StartupTaintProtected', message, warning }];
}
