/** Names of the files in the directory: those of a Secret of type kubernetes.io/tls, as cert-manager writes it, and the key of taintkeeper's CA. */
export const FILES = { bundle: 'ca.crt', caKey: 'ca.key', cert: 'tls.crt', key: 'tls.key' } as const;

/** The contents of {@link FILES} that exist, the keys in a form that Node.js reads. `bundle` has every trusted CA. */
export type StoredFiles = Readonly<Record<keyof typeof FILES, string | undefined>>;

/** All four files. The CA that issues, with the key `caKey`, is the first one of the bundle. */
export type CompleteFiles = Readonly<Record<keyof typeof FILES, string>>;

/** Whether the certificate counts as another issuer's: taintkeeper stores the key of its own CA beside it. If that key was lost, the files look the same. */
export function isFromAnotherIssuer({ cert, caKey }: Pick<StoredFiles, 'cert' | 'caKey'>): boolean {
  return cert !== undefined && caKey === undefined;
}
