import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readablePrivateKey } from '../../../src/files/private-key.ts';

const ed25519 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const relabelled = (pem: string, label: string) => pem.replaceAll(' PRIVATE KEY-----', ` ${label}-----`);

describe('a private key', () => {
  it.each([
    { why: 'as Talos writes it', label: 'ED25519 PRIVATE KEY' },
    { why: 'of two words', label: 'SOME OTHER PRIVATE KEY' },
  ])('is read under the label "$label", $why', ({ label }) => {
    const pem = relabelled(ed25519, label);
    expect(() => createPrivateKey(pem)).toThrow('unsupported');
    expect(createPrivateKey(readablePrivateKey(pem)).asymmetricKeyType).toBe('ed25519');
  });

  it.each([
    { what: 'PKCS #8', pem: ed25519 },
    { what: 'SEC 1', pem: ec.export({ type: 'sec1', format: 'pem' }) as string },
    { what: 'one of OpenSSH, which TLS does not read', pem: relabelled(ed25519, 'OPENSSH PRIVATE KEY') },
    {
      what: 'an encrypted one',
      pem: ec.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a' }) as string,
    },
    { what: 'no key', pem: '-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n' },
  ])('is left as it is: $what', ({ pem }) => {
    expect(readablePrivateKey(pem)).toBe(pem);
  });

  it('is found behind a certificate in one text', () => {
    const other = '-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n';
    expect(readablePrivateKey(other + relabelled(ed25519, 'ED25519 PRIVATE KEY'))).toBe(other + ed25519);
  });
});
