import type { X509Certificate } from 'node:crypto';
import { notValidYet, rotationObstacle } from '../certs/stored-faults.ts';
import { groupsBy } from '../runtime/groups-by.ts';
import type { Dialled } from './facts/dial.ts';
import { type Facts, trustedTime } from './facts/facts.ts';
import type { Way } from './facts/replica-facts.ts';
import { restart } from './restart.ts';

/** The certificates that one replica serves. */
export interface Served {
  readonly replica: string;
  readonly way: Way;
  readonly leaf: X509Certificate;
  /** The leaf is first. */
  readonly chain: readonly X509Certificate[];
}

/**
 * The certificates of all replicas that answered, and those at the Service's address that no replica has. Servers at that address that are
 * no webhook do not count: outside the cluster, another network may have it.
 */
export function servedBy({
  replicas,
  overService,
  installation,
}: Pick<Facts, 'replicas' | 'overService' | 'installation'>): Served[] {
  const served = replicas.flatMap(({ name, way, dialled }) => servedIn(name, way, dialled));
  const fingerprints = new Set(served.map(({ leaf }) => leaf.fingerprint256));
  const over = overService
    .filter(isWebhook)
    .flatMap((dialled) => servedIn(`Service ${installation.service}`, 'direct', dialled));
  const others = new Map(over.map((one) => [one.leaf.fingerprint256, one]));
  return [...served, ...[...others.values()].filter(({ leaf }) => !fingerprints.has(leaf.fingerprint256))];
}

function isWebhook(dialled: Dialled): boolean {
  return dialled.outcome === 'greeted' && dialled.greeting.refusal === undefined;
}

function servedIn(replica: string, way: Way, dialled: Dialled): Served[] {
  if (dialled.outcome !== 'greeted') return [];
  const { chain } = dialled.greeting;
  const [leaf] = chain;
  return leaf ? [{ replica, way, leaf, chain }] : [];
}

/** Why no served certificate is known. */
export function unservedReason({ replicas }: Pick<Facts, 'replicas'>): string {
  return replicas.length === 0
    ? 'no replica to connect to: see the network checks'
    : `no replica could be reached: ${replicas
        .map(({ name, dialled }) => (dialled.outcome === 'failed' ? `${name}: ${dialled.fault.message}` : name))
        .join('; ')}`;
}

/** The first 8 bytes of a fingerprint, which tell certificates apart. */
export function shortFingerprint({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.slice(0, 23);
}

/** How to get a new serving certificate. */
export function renewal(
  facts: Pick<Facts, 'installation' | 'pods' | 'source' | 'secret' | 'serverName' | 'now' | 'apiServerAheadMs'>,
): string {
  const { installation, source, secret } = facts;
  const { namespace } = installation;
  if (source.kind === 'files') {
    return source.secret === undefined
      ? 'replace tls.crt and tls.key in the directory of --cert-dir: taintkeeper picks them up'
      : `have the issuer of Secret ${namespace}/${source.secret} renew it (cert-manager: cmctl renew --namespace ${namespace} CERTIFICATE; kubectl get certificates --namespace ${namespace} lists the names with their Secrets)`;
  }
  const stored = secret.ok ? secret.value : undefined;
  const obstacle = stored && rotationObstacle(stored, [facts.serverName], trustedTime(facts));
  if (obstacle?.kind === 'otherIssuer') {
    return (
      `replace tls.crt and tls.key in Secret ${namespace}/${source.secret}, or have a replica that starts issue its own: ` +
      `kubectl delete secret --namespace ${namespace} ${source.secret} && ${restart(facts)}`
    );
  }
  // Also if there is no Secret.
  if (obstacle || (secret.ok && !stored)) return `a replica that starts issues a new one: ${restart(facts)}`;
  const isFuture = notValidYet(stored?.caCert, trustedTime(facts)) !== undefined;
  return `taintkeeper certs rotate ${isFuture ? '--ca ' : ''}--namespace ${namespace}`;
}

/** Describes items with the same trait together: `a, b are late; c is early`. */
export function describeGroups<T>(
  items: readonly T[],
  trait: (item: T) => string,
  describe: (group: [T, ...T[]]) => string,
): string {
  return groupsBy(items, trait).map(describe).join('; ');
}
