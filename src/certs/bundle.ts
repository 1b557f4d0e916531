import { X509Certificate } from 'node:crypto';

/** The certificates of a PEM text, in order. Unreadable ones are left out. None without a text. */
export function parseCertificates(pem = ''): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** The SHA-256 fingerprints of the certificates of a PEM text. */
export function fingerprints(pem: string): string[] {
  return parseCertificates(pem).map(({ fingerprint256 }) => fingerprint256);
}

/** Whether a bundle (PEM) has the CA. */
export function hasCa(bundle: string, { fingerprint256 }: X509Certificate): boolean {
  return fingerprints(bundle).includes(fingerprint256);
}

/** One bundle of all the certificates of several PEM texts, each once. Undefined if there is none. */
export function joinBundles(...bundles: readonly (string | undefined)[]): string | undefined {
  const [first, ...others] = bundles.filter((bundle) => bundle !== undefined);
  if (first === undefined) return undefined;
  const known = new Set(fingerprints(first));
  const added = others.flatMap(parseCertificates).filter(({ fingerprint256 }) => {
    const isNew = !known.has(fingerprint256);
    known.add(fingerprint256);
    return isNew;
  });
  // In its given form, so that a change of form alone causes no write.
  return added.length === 0 ? first : [first.trimEnd(), ...added.map((ca) => ca.toString().trimEnd()), ''].join('\n');
}
