import type { X509Certificate } from 'node:crypto';
import type { Dialled } from '../dial.ts';
import type { Facts } from '../facts.ts';
import type { Way } from '../replica-facts.ts';

/** What one replica serves. */
export interface Served {
  readonly replica: string;
  readonly way: Way;
  readonly leaf: X509Certificate;
  /** The leaf first. */
  readonly chain: readonly X509Certificate[];
}

/** What is served, by those who could be dialled, and by the Service's address where that is somebody else's. */
export function servedBy({ replicas, overService, site }: Pick<Facts, 'replicas' | 'overService' | 'site'>): Served[] {
  const served = replicas.flatMap(({ name, way, dialled }) => servedIn(name, way, dialled));
  const found = new Set(served.map(({ leaf }) => leaf.fingerprint256));
  const over = overService.flatMap((dialled) => servedIn(`Service ${site.service}`, 'direct', dialled));
  const others = new Map(over.map((one) => [one.leaf.fingerprint256, one]));
  return [...served, ...[...others.values()].filter(({ leaf }) => !found.has(leaf.fingerprint256))];
}

function servedIn(replica: string, way: Way, dialled: Dialled): Served[] {
  if (dialled.outcome !== 'greeted') return [];
  const { chain } = dialled.greeting;
  const [leaf] = chain;
  return leaf ? [{ replica, way, leaf, chain }] : [];
}

/** Why nothing is known of what is served. */
export function unservedReason({ replicas }: Pick<Facts, 'replicas'>): string {
  return replicas.length === 0
    ? 'there is no replica to be dialled: see the network checks'
    : `no replica could be dialled: ${replicas
        .map(({ name, dialled }) => (dialled.outcome === 'failed' ? `${name}: ${dialled.fault.message}` : name))
        .join('; ')}`;
}

/** The first 8 bytes of a fingerprint: enough to tell certificates apart. */
export function shortFingerprint({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.slice(0, 23);
}
