import { X509Certificate } from 'node:crypto';
import { generate } from 'selfsigned';
import type { KeyPair } from '../../../src/certs/issue.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/**
 * A CA that may have intermediate CAs below it, as those of taintkeeper may not.
 * @param middle the middle of the two years for which it is valid
 * @param renewed the CA that it renews, with the same key
 */
export async function issueAuthority(
  name: string,
  middle: Date,
  parent?: KeyPair,
  renewed?: KeyPair,
): Promise<KeyPair> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(middle.getTime() - YEAR_MS),
    notAfterDate: new Date(middle.getTime() + YEAR_MS),
    ...(parent ? { ca: parent } : {}),
    ...(renewed ? { keyPair: { privateKey: renewed.key, publicKey: publicKeyOf(renewed) } } : {}),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert, key };
}

function publicKeyOf({ cert }: KeyPair): string {
  return new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'pem' }) as string;
}

/** An entry of subjectAltName: an email address, a DNS name, or an IP address. */
export type AltName = { type: 1 | 2; value: string } | { type: 7; ip: string };

/** A serving certificate, valid now. Without alternative names, it has no such extension, as `openssl req -x509 -subj /CN=NAME` leaves it. */
export async function issueNamed(
  commonName: string,
  altNames: readonly AltName[],
  { now = new Date(), ca }: { now?: Date; ca?: KeyPair } = {},
): Promise<KeyPair> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now.getTime() - DAY_MS),
    notAfterDate: new Date(now.getTime() + 89 * DAY_MS),
    ...(ca ? { ca } : {}),
    extensions: [
      { name: 'basicConstraints', cA: false },
      ...(altNames.length > 0 ? [{ name: 'subjectAltName' as const, altNames: [...altNames] }] : []),
    ],
  });
  return { cert, key };
}
