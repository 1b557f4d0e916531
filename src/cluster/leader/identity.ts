import { randomUUID } from 'node:crypto';

/**
 * Who a process is in the election: a restarted container keeps its pod's name, and must not take the lease of the process
 * before it for its own.
 */
export function newIdentity(replica: string): string {
  return `${replica}_${randomUUID()}`;
}

/** The replica's name within the identity. */
export function replicaOf(identity: string): string {
  return identity.replace(/_[^_]*$/, '');
}
