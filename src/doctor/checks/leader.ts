import { OWN_LEASE } from '../../cluster/installation/own-names.ts';
import { TAKEOVER_MS } from '../../cluster/lease/leader-timings.ts';
import { consequence, type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import type { Installation } from '../facts/installation.ts';
import { hasLeader, type LeaseWatch } from '../facts/watch-lease.ts';
import { replicaLogs } from '../leader-log.ts';

/** Checks that a replica leads. Without working replicas, or the right to write the Lease, none can. */
export function checkLeader({ lease, installation }: Pick<Facts, 'lease' | 'installation'>): readonly Finding[] {
  return needs({ lease }, (known) => leadership(known.lease, installation));
}

function leadership(lease: LeaseWatch, installation: Installation): Finding {
  const { holder, renewTime, watchedSeconds } = lease;
  const name = `Lease ${installation.namespace}/${OWN_LEASE}`;
  if (hasLeader(lease)) return finding('ok', `${holder} holds ${name} and renews it`);
  const evidence = holder
    ? `${name} is held by ${holder}, which has not renewed it in ${watchedSeconds} s (last: ${renewTime ?? 'never'})`
    : holder === undefined
      ? `${name} not found: no replica has ever led`
      : `${name} was released, and no replica has taken it in ${watchedSeconds} s`;
  const remedy = `after a crash, a new leader takes up to ${TAKEOVER_MS / 1_000} s: run doctor again. If no replica leads then, their logs say why: ${replicaLogs(installation)} | grep -i lead`;
  return consequence(
    finding('problem', `${evidence}: nothing is repaired, and webhooks are not kept up to date`, remedy),
    (cause) => `${evidence}; that may be because of the problem with ${cause}`,
  );
}
