import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectPair, invalidAt } from '../../../src/certs/inspect.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { needsOpenssl, openssl } from './openssl.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const ca = await issueCa(NOW);
const pair = await issueServing(ca, ['localhost', '10.0.0.1', '*.example.com'], NOW);
const other = await issueServing(ca, ['localhost'], NOW);
const certificate = new X509Certificate(pair.cert);

describe('inspectPair', () => {
  it('reads a pair, and the first certificate of a chain', () => {
    for (const cert of [pair.cert, `${pair.cert}\n${ca.cert}`]) {
      const inspection = inspectPair({ cert, key: pair.key });
      expect(inspection.ok && inspection.certificate.serialNumber).toBe(certificate.serialNumber);
    }
  });

  it.each([
    {
      why: "another certificate's key",
      cert: pair.cert,
      key: other.key,
      reason: /key does not belong to the certificate/,
    },
    { why: 'the chain in the wrong order', cert: `${ca.cert}\n${pair.cert}`, key: pair.key, reason: /does not belong/ },
    { why: 'empty files', cert: '', key: '', reason: /^not a usable PEM/ },
    { why: 'a cut off certificate', cert: pair.cert.slice(0, 200), key: pair.key, reason: /^not a usable PEM/ },
    { why: 'a cut off key', cert: pair.cert, key: pair.key.slice(0, 60), reason: /^not a usable PEM/ },
    { why: 'a certificate for a key', cert: pair.cert, key: pair.cert, reason: /^not a usable PEM/ },
    { why: 'binary garbage', cert: '\u0000\uFFFD\u0001', key: '\u0000', reason: /^not a usable PEM/ },
    {
      why: 'a broken intermediate certificate',
      cert: `${pair.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      key: pair.key,
      reason: /^not a usable PEM/,
    },
  ])('refuses $why, and shows nothing of the key', ({ cert, key, reason }) => {
    const inspection = inspectPair({ cert, key });

    expect(inspection).toEqual({ ok: false, reason: expect.stringMatching(reason) });
    const secret = pair.key.split('\n')[1] ?? '';
    expect(JSON.stringify(inspection)).not.toContain(secret);
  });

  it('refuses a key that is too short for TLS', needsOpenssl, () => {
    const directory = temporaryDirectory();
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')];
    openssl('req', '-x509', '-newkey', 'rsa:1024', '-nodes', '-subj', '/CN=weak', '-keyout', key, '-out', cert);

    expect(inspectPair({ cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') })).toEqual({
      ok: false,
      reason: expect.stringContaining('too small'),
    });
  });
});

it.each([
  { time: '2026-06-01T10:59:59Z', reason: 'not valid before 2026-06-01T11:00:00.000Z' },
  { time: '2026-06-01T11:00:00Z', reason: undefined },
  { time: '2026-08-30T11:59:59Z', reason: undefined },
  { time: '2026-08-30T12:00:00Z', reason: 'not valid after 2026-08-30T12:00:00.000Z' },
])('at $time the certificate is $reason', ({ time, reason }) => {
  expect(invalidAt(certificate, new Date(time))).toBe(reason);
});
