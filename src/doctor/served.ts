import type { X509Certificate } from 'node:crypto';
import { parseCertificates } from '../certs/bundle.ts';
import { isTrusted } from '../certs/chain.ts';
import { caBundleOf, type Webhook } from '../cluster/admission-registration/webhook-configurations.ts';
import type { Dialled } from './facts/dial.ts';
import type { Facts } from './facts/facts.ts';
import type { Way } from './facts/replica-facts.ts';

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

export function bundleOf(webhook: Webhook): X509Certificate[] {
  return parseCertificates(caBundleOf(webhook));
}

/** Whether every registered webhook trusts the chain. */
export function isTrustedByAll(webhooks: readonly Webhook[], chain: readonly X509Certificate[], now: Date): boolean {
  return webhooks.every((webhook) => isTrusted(chain, bundleOf(webhook), now));
}
