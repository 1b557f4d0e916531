import type { X509Certificate } from 'node:crypto';

/** What stands in place of an empty name. */
const NO_NAME = '(no name)';

/** The subject of a certificate on one line; a common name alone without `CN=`. */
export function subjectOf({ subject }: X509Certificate): string {
  return onOneLine(subject);
}

/** The issuer of a certificate on one line; a common name alone without `CN=`. */
export function issuerOf({ issuer }: X509Certificate): string {
  return onOneLine(issuer);
}

/** The organizations in the subject of a certificate, in order. */
export function organizationsOf({ subject }: X509Certificate): string[] {
  return partsOf(subject).flatMap((part) => /^O=(.*)$/.exec(part)?.[1] ?? []);
}

function onOneLine(name: string | undefined): string {
  return partsOf(name).join(', ').replace(/^CN=/, '') || NO_NAME;
}

/** Node.js has `undefined` for an empty name, which its types do not say. A machine of Talos in maintenance mode has such an issuer. */
function partsOf(name: string | undefined): string[] {
  return name === undefined ? [] : name.split('\n');
}
