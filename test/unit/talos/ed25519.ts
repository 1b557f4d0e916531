import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Pair } from './apid.ts';

/** The parts of a distinguished name. */
export interface Name {
  readonly organization?: string;
  readonly commonName?: string;
}

export interface Issued extends Pair {
  readonly name: Name;
  readonly signingKey: KeyObject;
}

const DAY_MS = 86_400_000;

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const text = (value: string) => der(0x0c, Buffer.from(value));
const octets = (content: Buffer) => der(0x04, content);
const time = (date: Date) => der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));
const TRUE = der(0x01, Buffer.from([0xff]));
/** 1.3.101.112. */
const ED25519 = sequence(oid('2b6570'));

function distinguishedName({ organization, commonName }: Name): Buffer {
  const attribute = (id: string, value: string | undefined) =>
    value === undefined ? [] : [der(0x31, sequence(oid(id), text(value)))];
  return sequence(...attribute('55040a', organization), ...attribute('550403', commonName));
}

/** PEM under any label. */
export function armoured(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/** The label under which Talos writes PKCS #8 of an Ed25519 key. */
export const TALOS_LABEL = 'ED25519 PRIVATE KEY';

/**
 * A certificate with an Ed25519 key, as all of Talos' API are. Its key has Talos' label.
 * @param issuer signs it; without one, it signs itself
 */
export function ed25519Pair(name: Name, issuer?: Pick<Issued, 'name' | 'signingKey'>, ip?: string): Issued {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const extensions = [
    ...(issuer ? [] : [sequence(oid('551d13'), TRUE, octets(sequence(TRUE)))]),
    ...(ip === undefined
      ? []
      : [sequence(oid('551d11'), octets(sequence(der(0x87, Buffer.from(ip.split('.').map(Number))))))]),
  ];
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ED25519,
    distinguishedName(issuer?.name ?? name),
    sequence(time(new Date(Date.now() - DAY_MS)), time(new Date(Date.now() + 365 * DAY_MS))),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signature = sign(null, signed, issuer?.signingKey ?? privateKey);
  const certificate = sequence(signed, ED25519, der(0x03, Buffer.from([0]), signature));
  return {
    cert: armoured('CERTIFICATE', certificate),
    key: armoured(TALOS_LABEL, privateKey.export({ type: 'pkcs8', format: 'der' })),
    name,
    signingKey: privateKey,
  };
}

/** The pair as Node.js reads it, for servers of tests. */
export function served({ cert, signingKey }: Issued): Pair {
  return { cert, key: signingKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}
