import { randomBytes, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { issuerOf } from './distinguished-name.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const CA_LIFETIME_MS = 3650 * DAY_MS;
const SERVING_LIFETIME_MS = 90 * DAY_MS;
/** By how much certificates are backdated, for clients whose clock is behind. */
export const BACKDATE_MS = HOUR_MS;

/** The beginning of the subject of every CA of taintkeeper. */
const CA_NAME = 'taintkeeper CA';

/** A new CA (EC P-256, ten years). Each has a unique subject, because OpenSSL cannot distinguish two with the same one. */
export async function issueCa(now: Date): Promise<KeyPair> {
  const commonName = `${CA_NAME} ${randomBytes(4).toString('hex')}`;
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    ...validity(now, CA_LIFETIME_MS),
    ...ALGORITHM,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert, key };
}

/** A serving certificate for the given DNS names and IP addresses (EC P-256, 90 days, at most as long as the CA), signed by the CA. */
export async function issueServing(ca: KeyPair, names: readonly string[], now: Date): Promise<KeyPair> {
  const lifetimeMs = Math.min(SERVING_LIFETIME_MS, new X509Certificate(ca.cert).validToDate.getTime() - now.getTime());
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'taintkeeper' }], {
    ...validity(now, lifetimeMs),
    ...ALGORITHM,
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return { cert, key };
}

/** True for a certificate that a CA of taintkeeper, also an earlier one, has issued. */
export function isIssuedByUs(certificate: X509Certificate): boolean {
  return issuerOf(certificate).startsWith(`${CA_NAME} `);
}

/** selfsigned is loaded on demand: most starts issue nothing, and it needs 12 MiB. */
async function generate(...what: Parameters<typeof import('selfsigned')['generate']>) {
  const selfsigned = await import('selfsigned');
  return selfsigned.generate(...what);
}

const ALGORITHM = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;

function validity(now: Date, lifetimeMs: number) {
  return {
    notBeforeDate: new Date(now.getTime() - BACKDATE_MS),
    notAfterDate: new Date(now.getTime() + lifetimeMs),
  };
}
