import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../runtime/error-message.ts';
import type { StoredFiles } from './stored-files.ts';

/** A readable pair, or why it cannot be used. */
export type PairInspection =
  | { readonly ok: true; readonly certificate: X509Certificate }
  | { readonly ok: false; readonly reason: string };

/** The reason if the certificate or the key is missing. */
export const PAIR_NOT_FOUND = 'not found';

/** Reads a pair, and checks that the key belongs to the (first) certificate and that TLS accepts them. */
export function inspectPair({ cert, key }: Pick<StoredFiles, 'cert' | 'key'>): PairInspection {
  if (cert === undefined || key === undefined) return { ok: false, reason: PAIR_NOT_FOUND };
  try {
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) {
      return { ok: false, reason: 'the private key does not belong to the certificate' };
    }
    // TLS refuses more than the parsers do: broken intermediates, keys that are too short.
    createSecureContext({ cert, key });
    return { ok: true, certificate };
  } catch (error) {
    return { ok: false, reason: `not a usable PEM certificate and private key: ${messageOf(error)}` };
  }
}

/**
 * Why the certificate is not valid at that time, or undefined if it is. With a time in the future, this says whether a renewal is due.
 */
export function invalidAt(certificate: X509Certificate, time: Date): string | undefined {
  if (time < certificate.validFromDate) return `not valid before ${certificate.validFromDate.toISOString()}`;
  if (time >= certificate.validToDate) return `not valid after ${certificate.validToDate.toISOString()}`;
  return undefined;
}
