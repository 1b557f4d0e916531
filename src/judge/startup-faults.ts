import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { daemonTolerations, type Toleration, tolerates } from '../kubernetes/toleration.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { ReadyDaemonSet } from '../policy/taint-rule.ts';
import { daemonSetName } from './startup-progress.ts';

/** What keeps the startup taints of a policy from ever being removed. */
export interface StartupFault {
  readonly reason:
    | 'DaemonSetNotFound'
    | 'DaemonSetDoesNotTolerate'
    | 'TaintkeeperDoesNotTolerate'
    | 'StartupTaintProtected';
  readonly message: string;
}

export interface StartupSurroundings {
  readonly others: readonly CompiledTaintPolicy[];
  readonly daemonSetOf: (
    wanted: ReadyDaemonSet,
  ) => { readonly tolerations: readonly Toleration[]; readonly hostNetwork: boolean } | undefined;
  /** Taintkeeper's own pods. */
  readonly replicas: readonly { readonly tolerations: readonly Toleration[] }[];
}

/** The problems of a policy with `ensure: UntilReady`, in the order of its taints. */
export function startupFaults(policy: CompiledTaintPolicy, surroundings: StartupSurroundings): StartupFault[] {
  if (policy.mode === 'Audit') return [];
  return policy.untilReady.flatMap(({ value: { taint, daemonSets }, field }) => {
    const text = `taint ${formatTaint(taint)} (${field})`;
    return [
      ...daemonSets.flatMap((one) => daemonSetFault(one, taint, text, surroundings)),
      ...replicaFaults(taint, text, surroundings),
      ...surroundings.others
        .filter((other) => other.mode !== 'Audit' && other.protectedBy(taint) !== undefined)
        .map(
          (other): StartupFault => ({
            reason: 'StartupTaintProtected',
            message: `TaintPolicy ${other.name} (${other.protectedBy(taint)}) restricts the removal of ${text}: leave the key out there`,
          }),
        ),
    ];
  });
}

function daemonSetFault(
  wanted: ReadyDaemonSet,
  taint: Taint,
  text: string,
  { daemonSetOf }: StartupSurroundings,
): StartupFault[] {
  const daemonSet = daemonSetOf(wanted);
  const name = `DaemonSet ${daemonSetName(wanted)}`;
  if (!daemonSet) return [{ reason: 'DaemonSetNotFound', message: `${name} does not exist: new nodes keep ${text}` }];
  if (tolerate(daemonTolerations(daemonSet.tolerations, daemonSet.hostNetwork), taint)) return [];
  return [
    {
      reason: 'DaemonSetDoesNotTolerate',
      message: `${name} does not tolerate ${text}, which waits for it: new nodes keep the taint. Add the toleration to the DaemonSet`,
    },
  ];
}

function replicaFaults(taint: Taint, text: string, { replicas }: StartupSurroundings): StartupFault[] {
  if (replicas.every(({ tolerations }) => tolerate(tolerations, taint))) return [];
  return [
    {
      reason: 'TaintkeeperDoesNotTolerate',
      message: `the pods of taintkeeper do not tolerate ${text}: in a cluster of new nodes only, nobody would remove it. Add the toleration to its Deployment`,
    },
  ];
}

function tolerate(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}
