import { jittered } from '../../../src/cluster/watch/watch-timings.ts';
import { microTime } from '../../../src/kubernetes/time.ts';
import { messageOf } from '../../../src/runtime/error-message.ts';
import { followFault } from '../../../src/runtime/fault-log.ts';
import { startWorkQueue } from '../../../src/runtime/work-queue.ts';
import { APPLY_PATCH } from '../content-types.ts';
import type { Surroundings } from './surroundings.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
/** Server-side apply makes the Lease where there is none, in one request either way. */
const APPLY = { fieldManager: 'kubelet', force: true };
/** As the kubelet does (pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction). */
const RENEWALS_PER_LEASE = 4;
/** A renewal that failed is tried again so often before the next one would be due: three of them can fail and nobody notices. */
const RETRIES_PER_RENEWAL = 4;
/** How many renewals are on their way at a time. */
const CONCURRENCY = 16;
const REQUEST_TIMEOUT_MS = 10_000;

/** Keeps the heartbeats of nodes going. */
export interface Leases {
  /** Renews the Lease of a node from now on, until it has no kubelet any more. */
  keep(node: string): void;
}

/**
 * Renewals of many nodes do not stay together, however they began: each pause is up to a fifth shorter by chance.
 *
 * @param durationMs how long a Lease lasts, in whole seconds
 * @param uidOf undefined once a node has no kubelet
 */
export function keepLeases(
  { client, log }: Surroundings,
  durationMs: number,
  uidOf: (node: string) => string | undefined,
): Leases {
  const renewMs = durationMs / RENEWALS_PER_LEASE;
  const timeoutMs = Math.min(REQUEST_TIMEOUT_MS, durationMs / 2);
  const fault = followFault(log, 'leases are renewed again');
  const queue = startWorkQueue({
    name: 'leases',
    concurrency: CONCURRENCY,
    log,
    // The queue's own pauses after failures grow: a heartbeat cannot wait for that.
    async work(node) {
      const uid = uidOf(node);
      if (uid === undefined) return undefined;
      const body = leaseOf(node, uid, durationMs);
      try {
        await client.request('PATCH', `${LEASES}/${node}`, {
          ...{ body, contentType: APPLY_PATCH },
          ...{ query: APPLY, timeoutMs },
        });
        fault.ended();
        return jittered(renewMs);
      } catch (error) {
        fault.occurred('renewal', `a lease was not renewed: ${messageOf(error)}`);
        return jittered(renewMs / RETRIES_PER_RENEWAL);
      }
    },
  });
  return { keep: (node) => queue.add(node) };
}

/** It goes with its node, by the garbage collector. */
function leaseOf(node: string, uid: string, durationMs: number): object {
  const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid };
  const spec = {
    holderIdentity: node,
    leaseDurationSeconds: durationMs / 1_000,
    renewTime: microTime(Date.now()),
  };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: node, ownerReferences: [owner] },
    spec,
  };
}
