import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inspectPair } from '../../../src/certs/inspect.ts';

export const NOW = new Date('2026-06-01T12:00:00Z');
export const NAMES = ['webhook.test', '10.0.0.7'];
/** What every certificate of taintkeeper's own is for, besides the names asked for. */
export const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];

const DAY_MS = 86_400_000;
export const daysLater = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

export type Files = Record<string, string>;

export function filesOf(directory: string): Files {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

export function write(directory: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
}

/** That the four files belong together: the key to the certificate, the certificate to the CA, the CA to its key. */
export function expectConsistent(directory: string): void {
  const { 'ca.crt': ca = '', 'ca.key': caKey = '', 'tls.crt': cert = '', 'tls.key': key = '' } = filesOf(directory);
  expect(inspectPair({ cert: ca, key: caKey })).toMatchObject({ ok: true });
  expect(inspectPair({ cert, key })).toMatchObject({ ok: true });
  expect(new X509Certificate(cert).verify(new X509Certificate(ca).publicKey)).toBe(true);
}
