import { X509Certificate } from 'node:crypto';
import { parseCertificates } from './bundle.ts';
import { chainInvalidAt } from './chain.ts';
import { invalidAt } from './inspect.ts';
import { BACKDATE_MS, issueCa, issueServing, type KeyPair } from './issue.ts';
import { CA_LOOKAHEAD_MS, caFault, notValidYet, SERVING_LOOKAHEAD_MS, servingFault } from './stored-faults.ts';
import type { CompleteFiles, StoredFiles } from './stored-files.ts';

/** API servers receive a changed webhook configuration by a watch, within a fraction of a second. There may be several. */
export const PROPAGATION_MS = 10_000;

/** How long a CA may lie in the future until it is replaced: a clock that is behind for a moment may be corrected. */
export const FUTURE_CA_MS = 600_000;

export interface RotationState {
  readonly now: Date;
  /** DNS names that the serving certificate must have. */
  readonly names: readonly string[];
  /** True if all callers trust the CA that issues: every `caBundle` has had it for long enough. */
  readonly trusted: boolean;
  /** How long an earlier CA stays trusted after its last serving certificate was replaced, in milliseconds. */
  readonly overlapMs: number;
  /**
   * For how long the CA that issues has not been valid yet, while the API server's clock and the local one agreed, in milliseconds: {@link followFutureCa}.
   * 0 if it is valid, or if that is not known.
   */
  readonly futureForMs: number;
}

/** What to store next, and its effect as text. */
export interface RotationStep {
  readonly files: CompleteFiles;
  readonly what: string;
}

/**
 * The next step of stored certificates that many replicas serve and many `caBundle`s trust. Each step waits until the step before it has taken effect
 * everywhere, so that no replica ever serves an untrusted certificate:
 *
 * 1. A new CA joins the bundle, and the old serving certificate stays.
 * 2. Once every `caBundle` has the new CA, it issues a serving certificate.
 * 3. Once every replica certainly serves that one, the old CA is removed from the bundle.
 *
 * If nothing stored can be served, everything is issued at once. Undefined if nothing is due.
 */
export async function nextStep(stored: StoredFiles, state: RotationState): Promise<RotationStep | undefined> {
  const { now, names, trusted, overlapMs, futureForMs } = state;
  const unservable = servingFault(stored, names, now, 0);
  const future = futureForMs >= FUTURE_CA_MS ? notValidYet(stored.bundle, now) : undefined;
  const caReason = caFault(stored, now) ?? caEndsSoon(stored, now) ?? future;
  if (caReason !== undefined) {
    // An issuer that is not valid yet makes a serving certificate useless.
    const unaccepted =
      unservable ?? chainInvalidAt(parseCertificates(stored.cert), parseCertificates(stored.bundle), now);
    return unaccepted === undefined
      ? introduceCa(stored as CompleteFiles, now, caReason)
      : await issueAll(stored, names, now, caReason);
  }

  // From here on the CA exists, and can issue.
  const files = stored as CompleteFiles;
  if (unservable !== undefined) return reissue(files, names, now, unservable);
  const certificate = new X509Certificate(files.cert);
  const [issuer, ...earlier] = parseCertificates(files.bundle);
  const byIssuer = issuer !== undefined && certificate.verify(issuer.publicKey);
  const due = byIssuer ? servingFault(files, names, now, SERVING_LOOKAHEAD_MS) : 'of an earlier CA';
  if (due !== undefined) {
    // No client accepts a CA yet that was created with a clock that is ahead.
    const usable = issuer !== undefined && now >= issuer.validFromDate;
    return trusted && usable ? reissue(files, names, now, due) : undefined;
  }

  // Replicas serve a certificate of another CA only some time after it was issued.
  const inForceSince = certificate.validFromDate.getTime() + BACKDATE_MS + PROPAGATION_MS;
  if (issuer === undefined || earlier.length === 0 || now.getTime() < inForceSince + overlapMs) return undefined;
  return { files: { ...files, bundle: pem([issuer]) }, what: 'the earlier CA left the bundle' };
}

/**
 * Follows since when the CA that issues has not been valid yet. A CA issued by a clock that was ahead can be valid only in years.
 * @returns a function that takes the stored bundle, and returns {@link RotationState.futureForMs}
 */
export function followFutureCa(): (bundle: string | undefined, now: Date, clocksAgree: boolean) => number {
  let future: { readonly ca: string; readonly since: number } | undefined;
  return (bundle, now, clocksAgree) => {
    const [ca] = parseCertificates(bundle);
    if (!ca || !clocksAgree || now >= ca.validFromDate) future = undefined;
    else if (future?.ca !== ca.fingerprint256) future = { ca: ca.fingerprint256, since: performance.now() };
    return future ? performance.now() - future.since : 0;
  };
}

/** A new CA beside the current one. The serving certificate stays, until the new CA is trusted. */
export async function introduceCa(files: CompleteFiles, now: Date, reason: string): Promise<RotationStep> {
  const ca = await issueCa(now);
  return {
    files: { ...files, bundle: bundleOf(ca, files.bundle, now), caKey: ca.key },
    what: `a new CA joined the bundle (${reason})`,
  };
}

/** A new serving certificate from the CA that issues. */
export async function reissue(
  files: CompleteFiles,
  names: readonly string[],
  now: Date,
  reason: string,
): Promise<RotationStep> {
  const [issuer] = parseCertificates(files.bundle);
  const { cert, key } = await issueServing({ cert: issuer?.toString() ?? '', key: files.caKey }, names, now);
  return { files: { ...files, cert, key }, what: `serving certificate (${reason})` };
}

/** True while an earlier step has not taken effect: the serving certificate is not yet from the CA that issues. */
export function isRotating({ cert, bundle }: CompleteFiles): boolean {
  const [issuer] = parseCertificates(bundle);
  return issuer !== undefined && !new X509Certificate(cert).verify(issuer.publicKey);
}

async function issueAll(
  stored: StoredFiles,
  names: readonly string[],
  now: Date,
  reason: string,
): Promise<RotationStep> {
  const ca = await issueCa(now);
  const { cert, key } = await issueServing(ca, names, now);
  return {
    files: { bundle: bundleOf(ca, stored.bundle, now), caKey: ca.key, cert, key },
    what: `CA and serving certificate (${reason})`,
  };
}

function caEndsSoon({ bundle }: StoredFiles, now: Date): string | undefined {
  const [ca] = parseCertificates(bundle);
  const soon = new Date(now.getTime() + CA_LOOKAHEAD_MS);
  return ca && now >= ca.validFromDate ? invalidAt(ca, soon) : undefined;
}

/** The new CA first, then the earlier ones that are still valid: replicas may serve a certificate of theirs for a while. */
function bundleOf(ca: KeyPair, earlier: string | undefined, now: Date): string {
  const valid = parseCertificates(earlier).filter((one) => invalidAt(one, now) === undefined);
  return `${ca.cert.trimEnd()}\n${pem(valid)}`;
}

function pem(certificates: readonly X509Certificate[]): string {
  return certificates.map((certificate) => certificate.toString()).join('');
}
