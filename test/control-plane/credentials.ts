import { generateKeyPairSync } from 'node:crypto';
import { generate } from 'selfsigned';
import type { User } from './users.ts';

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority of a single control plane. */
export interface Authority {
  /** The authority's own certificate, in PEM. */
  readonly cert: string;
  /** A serving certificate for 127.0.0.1, localhost, and further names and addresses. */
  serving(further?: { names?: readonly string[]; addresses?: readonly string[] }): Promise<KeyPair>;
  /** A client certificate that the API server reads as this user. */
  client(user: User): Promise<KeyPair>;
}

const EC_SHA256 = { keyType: 'ec', algorithm: 'sha256' } as const;

/** Makes a new authority; its key is nowhere but in memory. */
export async function createAuthority(): Promise<Authority> {
  const root = await generate([{ name: 'commonName', value: 'taintkeeper test control plane' }], {
    ...EC_SHA256,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const issuer = { ...EC_SHA256, ca: { key: root.private, cert: root.cert } };
  return {
    cert: root.cert,
    serving: async ({ names = [], addresses = [] } = {}) => {
      const pair = await generate([{ name: 'commonName', value: 'localhost' }], {
        ...issuer,
        extensions: [
          // etcd's gateway is a client of etcd itself, with the same certificate.
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          {
            name: 'subjectAltName',
            altNames: [
              ...['localhost', ...names].map((value) => ({ type: 2 as const, value })),
              ...['127.0.0.1', ...addresses].map((ip) => ({ type: 7 as const, ip })),
            ],
          },
        ],
      });
      return { cert: pair.cert, key: pair.private };
    },
    client: async (user) => {
      const subject = [
        { name: 'commonName', value: user.name },
        ...user.groups.map((group) => ({ name: 'organizationName', value: group })),
      ];
      const pair = await generate(subject, { ...issuer, extensions: [{ name: 'extKeyUsage', clientAuth: true }] });
      return { cert: pair.cert, key: pair.private };
    },
  };
}

/** A private key, in PEM, that service account tokens are signed with. */
export function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // The API server takes the public half from a private key file too, but not from PKCS#8.
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}
