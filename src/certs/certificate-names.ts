import { X509Certificate } from 'node:crypto';
import { isIP, isIPv6, SocketAddress } from 'node:net';
import type { PeerCertificate } from 'node:tls';

/**
 * The DNS names and IP addresses that the certificate is not for, by the rule of its clients, which are programs in Go (`VerifyHostname` of crypto/x509):
 * only the subjectAltName counts, never the Common Name, and `*` stands for the whole first label. An address with a zone (`fe80::1%eth0`) matches nothing.
 * OpenSSL is stricter than Go for names that no Service has: `*` directly above the last label, labels with `_`, and a dot at the end.
 */
export function uncoveredNames(certificate: X509Certificate, names: readonly string[]): string[] {
  return names.filter((name) =>
    isIP(name) && !name.includes('%') ? !certificate.checkIP(name) : !certificate.checkHost(name, DNS_NAMES_AS_IN_GO),
  );
}

const DNS_NAMES_AS_IN_GO = { subject: 'never', partialWildcards: false } as const;

/**
 * The option `checkServerIdentity` of `node:tls` by the rule of {@link uncoveredNames}. By default, Node.js also accepts the Common Name.
 * @returns why the certificate is refused; undefined if it is for the name
 */
export function checkServerIdentity(name: string, { raw }: Pick<PeerCertificate, 'raw'>): Error | undefined {
  const certificate = new X509Certificate(raw);
  if (uncoveredNames(certificate, [name]).length === 0) return undefined;
  return new Error(`the certificate is not for ${name}, but for ${namesText(certificate)}`);
}

/** The DNS names and IP addresses of the certificate, with addresses in their short form (`::1`). */
export function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  return (
    subjectAltName
      .split(', ')
      .map((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.[1])
      .filter((name) => name !== undefined)
      // Node.js prints it as 0:0:0:0:0:0:0:1.
      .map((name) => (isIPv6(name) ? new SocketAddress({ address: name, family: 'ipv6' }).address : name))
  );
}

/** {@link namesOf} as text. */
export function namesText(certificate: X509Certificate): string {
  return namesOf(certificate).join(', ') || 'no name at all';
}

/** That the certificate is not for the names, as text. Undefined if there are none. */
export function notFor(uncovered: readonly string[]): string | undefined {
  return uncovered.length > 0 ? `not for ${uncovered.join(', ')}` : undefined;
}
