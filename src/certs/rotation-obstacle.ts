import { parseCertificates } from './bundle.ts';
import { uncoveredNames } from './certificate-names.ts';
import { caFault } from './stored-faults.ts';
import { isFromAnotherIssuer, type StoredFiles } from './stored-files.ts';

/** Why the serving certificate cannot be replaced on request. */
export type RotationObstacle =
  /** Another issuer issued the certificates. */
  | { readonly kind: 'otherIssuer' }
  | { readonly kind: 'ca'; readonly reason: string }
  /** The certificate is not for these names: it may be that of another installation. */
  | { readonly kind: 'names'; readonly uncovered: readonly string[] };

/** Undefined if `taintkeeper certs rotate` can replace the serving certificate, also one that has expired. */
export function rotationObstacle(
  files: StoredFiles,
  names: readonly string[],
  now: Date,
): RotationObstacle | undefined {
  if (isFromAnotherIssuer(files)) return { kind: 'otherIssuer' };
  const reason = caFault(files, now);
  if (reason !== undefined) return { kind: 'ca', reason };
  const [serving] = parseCertificates(files.cert);
  const uncovered = serving ? uncoveredNames(serving, names) : [];
  return uncovered.length > 0 ? { kind: 'names', uncovered } : undefined;
}
