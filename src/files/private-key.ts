/** A label of PEM that says `… PRIVATE KEY`, without those that OpenSSL knows (pem.h). */
const OTHER_LABEL = /(-----(?:BEGIN|END) )(?!(?:RSA|EC|DSA|ENCRYPTED|OPENSSH) )[^\n-]+ (PRIVATE KEY-----)/g;

/**
 * A private key (PEM) under a label that Node.js reads. Go reads a key by its content and under any label, and Talos writes PKCS #8 of an Ed25519 key as
 * `ED25519 PRIVATE KEY`. Any other text is returned as it is.
 */
export function readablePrivateKey(pem: string): string {
  return pem.replace(OTHER_LABEL, '$1$2');
}
