import type { ClusterDaemonSet } from '../../../cluster/objects/cluster-objects.ts';
import { protectedStartupTaintsAmong, startupFaults } from '../../../judge/policy/startup-faults.ts';
import type { CompiledTaintPolicy } from '../../../policy/compiled-taint-policy.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import type { ReplicaPod } from '../../../scheduling/replica-spread.ts';
import { shorten } from '../../../text/printable.ts';
import type { SyncState, WatchedDaemonSets } from '../../cluster-watches.ts';
import type { ReportedProblem } from '../../reports.ts';
import { problemsOf } from '../concerns.ts';
import type { WriteFaults } from '../write-faults.ts';
import { MAX_NODE_TEXT, type WaitingNodes } from './waiting-nodes.ts';

export interface StartupProblemsOptions {
  readonly policies: readonly CompiledTaintPolicy[];
  readonly daemonSets: Pick<WatchedDaemonSets, 'get' | 'isUnreadable'> & Pick<SyncState, 'isSynced'>;
  /** As last read. */
  readonly replicas: readonly ReplicaPod[];
  readonly waitingNodes: Pick<WaitingNodes, 'overdue' | 'keptOff'>;
  readonly writeFaults: Pick<WriteFaults, 'concerns'>;
}

/** Problems of startup taints, for the status of policies: faults of the policies, refused writes, and nodes that wait for too long. */
export function startupProblems(options: StartupProblemsOptions): readonly ReportedProblem[] {
  const { writeFaults, waitingNodes } = options;
  return [
    ...policyFaults(options),
    ...problemsOf(
      writeFaults.concerns((message) => shorten(message, MAX_NODE_TEXT)),
      'StartupTaintRefused',
      (texts) => `startup taints cannot be changed: ${texts.join('; ')}`,
    ),
    ...problemsOf(
      waitingNodes.keptOff(),
      'DaemonSetDoesNotTolerate',
      (texts) => `${texts.join('; ')}. Add the tolerations to the DaemonSets, or keep the taints off these nodes`,
    ),
    ...problemsOf(
      waitingNodes.overdue(),
      'StartupTaintDeadlineExceeded',
      (texts) => `the progress deadline of startup taints has passed: ${texts.join('; ')}`,
    ),
  ];
}

function policyFaults({ policies, daemonSets, replicas }: StartupProblemsOptions): ReportedProblem[] {
  const surroundings = {
    protectedStartupTaints: protectedStartupTaintsAmong(policies),
    daemonSetOf: (one: ReadyDaemonSet) => daemonSetOf(daemonSets, one),
    replicas,
  };
  return policies.flatMap((policy) =>
    startupFaults(policy, surroundings).map(
      (fault): ReportedProblem => ({ kind: policy.kind, policy: policy.name, ...fault }),
    ),
  );
}

function daemonSetOf(
  daemonSets: StartupProblemsOptions['daemonSets'],
  { namespace, name }: ReadyDaemonSet,
): ClusterDaemonSet | 'Unreadable' | 'NotRead' | undefined {
  // Before all of them are listed, none is known to be absent.
  if (!daemonSets.isSynced()) return 'NotRead';
  return daemonSets.isUnreadable(name, namespace) ? 'Unreadable' : daemonSets.get(name, namespace)?.value;
}
