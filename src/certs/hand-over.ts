import { parseCertificates } from './bundle.ts';
import type { Anchor, CaTrust } from './ca-trust.ts';
import { NOT_SIGNED } from './chain.ts';
import { type ServableCertificates, servableFault, servableInvalidAt } from './servable-certificates.ts';

/** Whether the next certificates are served. While they are not, the earlier ones are. */
export type HandOver =
  | { readonly kind: 'served' }
  /** No caller would accept them. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The callers may not trust their CA yet. `waitMs` is Infinity while that is not known. Until then, the bundle must have the CAs of both. */
  | { readonly kind: 'untrusted'; readonly waitMs: number };

const SERVED: HandOver = { kind: 'served' };

/** The trust of callers, for {@link judgeHandOver}. */
export type CallersTrust = Pick<CaTrust, 'waitMs' | 'anchorOf'>;

/** Certificates that are served. The next ones replace them once that is safe: see {@link judgeHandOver}. */
export interface ServedCertificates {
  /** With the last bundle. */
  current(): ServableCertificates;
  /** Why the next certificates are not served, as text. Undefined if they are, and while they wait for trust. */
  refusal(): string | undefined;
  /**
   * Serves the next certificates, or goes on with the earlier ones.
   * @param bundleWith the bundle to trust with the certificates that are served from now on
   */
  offer(
    next: ServableCertificates,
    now: Date,
    bundleWith: (served: ServableCertificates) => string | undefined,
  ): HandOver;
}

export interface ServeOptions {
  /** Where the next certificates come from, as text. */
  readonly where: string;
  /** See {@link judgeHandOver}. */
  readonly trust: CallersTrust | undefined;
  /** Called with the first certificates, and again after each change of the serving pair or the bundle. */
  readonly onServe: (certificates: ServableCertificates) => void;
  /** Called when certificates are refused, once for each reason. */
  readonly onFault: (message: string) => void;
}

export function serveCertificates(
  first: ServableCertificates,
  { where, trust, onServe, onFault }: ServeOptions,
): ServedCertificates {
  let served = first;
  let current = first;
  let refusal: string | undefined;
  onServe(first);

  return {
    current: () => current,
    refusal: () => refusal,
    offer(next, now, bundleWith) {
      const handOver = judgeHandOver(served, next, now, trust);
      if (handOver.kind === 'served') served = next;
      const lastRefusal = refusal;
      refusal = handOver.kind === 'refused' ? keptText(where, handOver.reason) : undefined;
      if (refusal !== undefined && refusal !== lastRefusal) onFault(refusal);
      const before = current;
      current = { ...served, bundle: bundleWith(served) };
      if (!isSamePair(current, before) || current.bundle !== before.bundle) onServe(current);
      return handOver;
    },
  };
}

/**
 * Decides whether certificates are served in place of earlier ones: at once if those are not valid, and otherwise once the callers accept the next ones.
 * @param now by the callers' clock, or by the local one if they are not known
 * @param trust the callers' trust. Undefined if they are not known: they may call by other names, and trust another CA than that of the bundle
 */
function judgeHandOver(
  served: ServableCertificates,
  next: ServableCertificates,
  now: Date,
  trust: CallersTrust | undefined,
): HandOver {
  if (isSamePair(served, next)) {
    // A wrong `ca.crt`, or one that is written before its pair, must not take the served pair's CA from every `caBundle`.
    const losesCa = trust && hasOwnCa(served) && !hasOwnCa(next);
    return losesCa ? { kind: 'refused', reason: NOT_SIGNED } : SERVED;
  }
  if (trust && served.uncovered.length > 0) return SERVED;
  if (servableInvalidAt(served, now) !== undefined) return SERVED;
  const reason = trust ? servableFault(next, next.uncovered, now) : servableInvalidAt(next, now);
  if (reason !== undefined) return { kind: 'refused', reason };
  if (trust === undefined) return SERVED;
  // Callers that trust the served pair by the CAs of their system do so only without a `caBundle`: that of the next pair cannot be registered first.
  const anchor = isTrustedBySystem(served, trust, now) ? 'system' : anchorOf(next, trust, now);
  if (anchor === undefined) return { kind: 'refused', reason: UNKNOWN_CA };
  const isSameCa = anchor !== 'system' && anchor.fingerprint256 === served.ca?.fingerprint256;
  const waitMs = isSameCa ? 0 : trust.waitMs(anchor);
  return waitMs > 0 ? { kind: 'untrusted', waitMs } : SERVED;
}

const UNKNOWN_CA = 'signed by no CA of the caBundles: add its CA as ca.crt';

/** That certificates are not served, and the earlier ones are kept, as text. */
export function keptText(where: string, reason: string): string {
  return `${where}: ${reason}; the last good certificates are served`;
}

/** By what the callers accept, or will accept, the certificates. Undefined if the leader cannot register their CA, because it is not known. */
function anchorOf({ ca, serving }: ServableCertificates, trust: CallersTrust, now: Date): Anchor | undefined {
  return ca ?? trust.anchorOf(parseCertificates(serving.cert), now);
}

/** Whether the certificates come without their CA, and the callers trust them by the CAs of their system, if at all. */
export function isTrustedBySystem(certificates: ServableCertificates, trust: CallersTrust, now: Date): boolean {
  return anchorOf(certificates, trust, now) === 'system';
}

/** Whether the bundle has the CA of the certificate. Without a bundle, the system's CAs decide about trust. */
function hasOwnCa({ bundle, ca }: ServableCertificates): boolean {
  return bundle === undefined || ca !== undefined;
}

function isSamePair({ serving: a }: ServableCertificates, { serving: b }: ServableCertificates): boolean {
  return a.cert === b.cert && a.key === b.key;
}
