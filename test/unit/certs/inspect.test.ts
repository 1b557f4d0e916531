import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFiles } from '../../../src/certs/certificate-files.ts';
import { inspectPair, invalidAt, namesOf, suppliedFault } from '../../../src/certs/inspect.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { type AltName, issueAuthority, issueNamed } from './authorities.ts';
import { needsOpenssl, openssl } from './openssl.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const ca = await issueCa(NOW);
const pair = await issueServing(ca, ['localhost', '10.0.0.1', '*.example.com'], NOW);
const other = await issueServing(ca, ['localhost'], NOW);
const certificate = new X509Certificate(pair.cert);
const LOCALHOST: AltName[] = [{ type: 2, value: 'localhost' }];

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

it.each([{ names: ['localhost', '*.example.com'] }, { names: ['10.0.0.1', '::1', 'fe80::1:0:2'] }])(
  'a certificate for $names names them as they were asked for',
  async ({ names }) => {
    const { cert } = await issueServing(ca, names, NOW);
    expect(namesOf(new X509Certificate(cert))).toEqual(names);
  },
);

it('a certificate for no name names none', () => {
  expect(namesOf(new X509Certificate(ca.cert))).toEqual([]);
});

describe('certificates of another issuer', async () => {
  const supplied = { cert: pair.cert, key: pair.key, caCert: undefined, caKey: undefined };
  const otherCa = await issueAuthority('root', NOW);
  const intermediate = await issueAuthority('intermediate', NOW, otherCa);
  const leaf = await issueServing(intermediate, ['localhost'], NOW);
  const second = await issueAuthority('second', NOW, intermediate);
  const deepLeaf = await issueServing(second, ['localhost'], NOW);
  const ENDED = new Date(NOW.getTime() - 400 * 86_400_000);
  const endedRoot = await issueAuthority('ended root', ENDED);
  const ofEndedRoot = await issueNamed('localhost', LOCALHOST, { now: NOW, ca: endedRoot });
  const endedIntermediate = await issueAuthority('ended intermediate', ENDED, otherCa);
  const ofEndedIntermediate = await issueNamed('localhost', LOCALHOST, { now: NOW, ca: endedIntermediate });
  const futureRoot = await issueAuthority('future root', new Date(NOW.getTime() + 400 * 86_400_000));
  const ofFutureRoot = await issueNamed('localhost', LOCALHOST, { now: NOW, ca: futureRoot });
  const commonNameOnly = await issueNamed('taintkeeper.taintkeeper.svc', [], { now: NOW });
  const ended = new Date(NOW.getTime() + 91 * 86_400_000);

  it.each<{ why: string; files?: Partial<StoredFiles>; names?: string[]; now?: Date; fault?: RegExp }>([
    { why: 'without the CA, as of a public issuer' },
    { why: 'with an empty CA, as cert-manager writes it for an issuer that gives none', files: { caCert: '' } },
    { why: 'with the CA', files: { caCert: ca.cert } },
    {
      why: 'with the root alone, and a chain that leads to it',
      files: { cert: `${leaf.cert}\n${intermediate.cert}`, key: leaf.key, caCert: otherCa.cert },
    },
    {
      why: 'with the certificates of two intermediate CAs in any order',
      files: {
        cert: `${deepLeaf.cert}\n${intermediate.cert}\n${second.cert}`,
        key: deepLeaf.key,
        caCert: otherCa.cert,
      },
    },
    {
      why: 'with an intermediate certificate of the CA that did not sign the first one',
      files: { cert: `${pair.cert}\n${intermediate.cert}`, caCert: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    {
      why: 'with the CA itself after a certificate that it did not sign',
      files: { cert: `${pair.cert}\n${otherCa.cert}`, caCert: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    {
      why: 'with the root alone, and without the intermediate certificate',
      files: { cert: leaf.cert, key: leaf.key, caCert: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    { why: 'without the key', files: { key: undefined }, fault: /^not found$/ },
    { why: 'without the certificate', files: { cert: undefined }, fault: /^not found$/ },
    { why: 'with the key of another certificate', files: { key: other.key }, fault: /does not belong/ },
    { why: 'with another CA', files: { caCert: otherCa.cert }, fault: /^not signed by the CA$/ },
    {
      why: 'for another name',
      names: ['taintkeeper.taintkeeper.svc'],
      fault: /^not for taintkeeper\.taintkeeper\.svc$/,
    },
    {
      why: 'with the name only as the Common Name',
      files: { cert: commonNameOnly.cert, key: commonNameOnly.key },
      names: ['taintkeeper.taintkeeper.svc'],
      fault: /^not for taintkeeper\.taintkeeper\.svc$/,
    },
    { why: 'after their end', now: ended, fault: /^not valid after/ },
    {
      why: 'of a CA that has expired, although they have not',
      files: { ...ofEndedRoot, caCert: endedRoot.cert },
      fault: /^the CA is not valid after 2026-04-27T12:00:00.000Z$/,
    },
    {
      why: 'of a CA that is not valid yet',
      files: { ...ofFutureRoot, caCert: futureRoot.cert },
      fault: /^the CA is not valid before 2026-07-06T12:00:00.000Z$/,
    },
    {
      why: 'of an intermediate CA that has expired, below a root that has not',
      files: {
        cert: `${ofEndedIntermediate.cert}\n${endedIntermediate.cert}`,
        key: ofEndedIntermediate.key,
        caCert: otherCa.cert,
      },
      fault: /^the CA is not valid after 2026-04-27T12:00:00.000Z$/,
    },
    {
      why: 'beside another CA that has expired',
      files: { caCert: `${endedRoot.cert}\n${ca.cert}` },
    },
  ])('$why', ({ files = {}, names = ['localhost'], now = NOW, fault }) => {
    const found = suppliedFault({ ...supplied, ...files }, names, now);
    expect(found).toEqual(fault === undefined ? undefined : expect.stringMatching(fault));
  });
});
