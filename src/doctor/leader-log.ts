import { OWN_LABEL } from '../cluster/installation/own-names.ts';
import { replicaOf } from '../cluster/lease/leadership.ts';
import { formatLabels } from '../kubernetes/label-selector.ts';
import { isDnsSubdomain } from '../kubernetes/names.ts';
import { shellWord } from '../text/printable.ts';
import type { Facts } from './facts/facts.ts';
import type { Installation } from './facts/installation.ts';
import { hasLeader } from './facts/watch-lease.ts';

/**
 * The command that shows the log of the leader. Without a leader, or without the right to read the Lease, it shows the logs of all replicas: of a
 * Deployment, kubectl would show one pod of its own choice.
 */
export function leaderLog({ lease, installation }: Pick<Facts, 'lease' | 'installation'>): string {
  const pod = lease.ok && hasLeader(lease.value) ? replicaOf(lease.value.holder ?? '') : '';
  // Every user who may write the Lease can set any text.
  if (!isDnsSubdomain(pod)) return replicaLogs(installation);
  return `kubectl logs --namespace ${installation.namespace} ${pod}`;
}

/** The command that shows the logs of all replicas. */
export function replicaLogs({ namespace, deployment }: Installation): string {
  const selector = formatLabels(deployment?.selector ?? {}) || OWN_LABEL;
  // With a selector, kubectl shows ten lines of each pod by default.
  return `kubectl logs --namespace ${namespace} --selector=${shellWord(selector)} --prefix --tail=-1`;
}
