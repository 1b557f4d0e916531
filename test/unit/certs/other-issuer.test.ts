import { X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, it } from 'vitest';
import { openCertificates } from '../../../src/certs/certificate-directory.ts';
import { CertificateDirectoryError } from '../../../src/certs/certificate-files.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { issueAuthority } from './authorities.ts';
import { daysLater, type Files, filesOf, NAMES, NOW, write } from './directories.ts';

describe('a pair from another issuer', () => {
  async function otherIssuers(files: Files = {}) {
    const directory = temporaryDirectory();
    const ca = await issueCa(NOW);
    const { cert, key } = await issueServing(ca, ['elsewhere'], NOW);
    write(directory, { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert, ...files });
    return { directory, ca, cert, key };
  }

  it.each([
    { why: 'as it is, though it is not for the names asked for', now: NOW },
    { why: 'also when it expires soon', now: daysLater(89) },
    { why: 'also when it has expired: readiness will say so', now: daysLater(91) },
  ])('is used $why, and nothing is written', async ({ now }) => {
    const { directory, ca, cert, key } = await otherIssuers();
    const before = filesOf(directory);

    const opened = await openCertificates(directory, ['elsewhere', ...NAMES], now);
    expect(opened).toMatchObject({ serving: { cert, key }, renews: 'nothing', uncovered: NAMES, issued: [] });
    expect(opened.ca?.fingerprint256).toBe(new X509Certificate(ca.cert).fingerprint256);
    expect(filesOf(directory)).toEqual(before);
  });

  it('is served with a key under a label that OpenSSL does not know', async () => {
    const { directory, key } = await otherIssuers();
    write(directory, { 'tls.key': key.replaceAll(' PRIVATE KEY', ' ECDSA PRIVATE KEY') });
    expect(await openCertificates(directory, NAMES, NOW)).toMatchObject({ serving: { key } });
  });

  it('is left alone while only its certificate has been put beside a CA of ours', async () => {
    const directory = temporaryDirectory();
    await openCertificates(directory, NAMES, NOW);
    const { cert } = await generate([{ name: 'commonName', value: 'of my own' }], { keyType: 'ec' });
    write(directory, { 'tls.crt': cert });
    const before = filesOf(directory);

    for (const issuing of ['caAndServing', 'servingOnly'] as const) {
      await expect(openCertificates(directory, NAMES, NOW, issuing)).rejects.toThrow(CertificateDirectoryError);
    }
    expect(filesOf(directory)).toEqual(before);
  });

  it('is checked against the CA that signed it, whatever else is in the bundle', async () => {
    const old = await issueCa(new Date('2000-01-01T00:00:00Z'));
    const { directory, ca } = await otherIssuers();
    write(directory, { 'ca.crt': `${old.cert}${ca.cert}` });
    const opened = await openCertificates(directory, NAMES, NOW);
    expect(opened.ca?.fingerprint256).toBe(new X509Certificate(ca.cert).fingerprint256);
  });

  it('leads to the root of ca.crt by the intermediate CAs of tls.crt', async () => {
    const root = await issueAuthority('root', NOW);
    const intermediate = await issueAuthority('intermediate', NOW, root);
    const leaf = await issueServing(intermediate, NAMES, NOW);
    const { directory } = await otherIssuers({
      'tls.crt': `${leaf.cert}\n${intermediate.cert}`,
      'tls.key': leaf.key,
      'ca.crt': `${(await issueCa(NOW)).cert}\n${root.cert}`,
    });
    const opened = await openCertificates(directory, NAMES, NOW);
    expect(opened.ca?.fingerprint256).toBe(new X509Certificate(root.cert).fingerprint256);
  });

  it('is none when its CA, with the key, is there: then it is renewed from that', async () => {
    const directory = temporaryDirectory();
    const extensions = [{ name: 'basicConstraints', cA: true, critical: true }] as const;
    const made = await generate([{ name: 'commonName', value: 'of my own' }], {
      keyType: 'ec',
      notBeforeDate: NOW,
      extensions: [...extensions],
    });
    write(directory, { 'ca.crt': made.cert, 'ca.key': made.private });
    for (const names of [NAMES, [...NAMES, 'another.test']]) {
      expect(await openCertificates(directory, names, NOW)).toMatchObject({ renews: 'serving', uncovered: [] });
    }
    expect(filesOf(directory)).toMatchObject({ 'ca.crt': made.cert, 'ca.key': made.private });
  });

  it('is used, and left alone, when it was put beside a CA of ours', async () => {
    const directory = temporaryDirectory();
    await openCertificates(directory, NAMES, NOW);
    const { cert, private: key } = await generate([{ name: 'commonName', value: 'of my own' }], { keyType: 'ec' });
    write(directory, { 'tls.crt': cert, 'tls.key': key });
    const before = filesOf(directory);

    expect(await openCertificates(directory, NAMES, NOW)).toMatchObject({ serving: { cert, key }, renews: 'nothing' });
    expect(filesOf(directory)).toEqual(before);
  });

  it.each([
    { why: 'empty, as cert-manager leaves it where it does not know the CA', caCert: '' },
    { why: 'garbage', caCert: 'garbage' },
  ])('is used when ca.crt is $why', async ({ caCert }) => {
    const { directory, cert } = await otherIssuers({ 'ca.crt': caCert });

    expect(await openCertificates(directory, NAMES, NOW)).toMatchObject({ serving: { cert }, ca: undefined });
  });

  it.each([
    { why: 'the key is of another certificate', files: async () => ({ 'tls.key': (await issueCa(NOW)).key }) },
    { why: 'the certificate is garbage', files: async () => ({ 'tls.crt': 'garbage' }) },
    { why: 'the key is empty', files: async () => ({ 'tls.key': '' }) },
  ])('is refused, and left alone, when $why', async ({ files }) => {
    const { directory } = await otherIssuers(await files());
    const before = filesOf(directory);
    const opening = openCertificates(directory, NAMES, NOW);

    await expect(opening).rejects.toThrow(CertificateDirectoryError);
    await expect(opening).rejects.toThrow(join(directory, 'tls.crt'));
    expect(filesOf(directory)).toEqual(before);
  });

  it.each([
    { there: 'tls.crt', missing: 'tls.key' },
    { there: 'tls.key', missing: 'tls.crt' },
  ])('is not overwritten when there is only its $there', async ({ there, missing }) => {
    const { directory } = await otherIssuers();
    rmSync(join(directory, missing));
    const before = filesOf(directory);

    await expect(openCertificates(directory, NAMES, NOW)).rejects.toThrow(
      `${join(directory, there)} is there without ${missing}: add it, or remove both`,
    );
    expect(filesOf(directory)).toEqual(before);
  });

  it('is one of our own without the key of its CA, at the start', async () => {
    const directory = temporaryDirectory();
    const { serving } = await openCertificates(directory, NAMES, NOW);
    rmSync(join(directory, 'ca.key'));
    const before = filesOf(directory);

    expect(await openCertificates(directory, NAMES, daysLater(89))).toMatchObject({
      serving,
      renews: 'nothing',
      issued: [],
    });
    expect(filesOf(directory)).toEqual(before);
  });

  it.each([
    { where: 'in an empty directory', prepare: async () => {} },
    {
      where: 'beside a CA of ours',
      prepare: async (directory: string) => {
        await openCertificates(directory, NAMES, NOW);
        for (const file of ['tls.crt', 'tls.key']) rmSync(join(directory, file));
      },
    },
  ])('is not followed by one of our own while it is being replaced, $where', async ({ prepare }) => {
    const directory = temporaryDirectory();
    await prepare(directory);
    const before = filesOf(directory);

    await expect(openCertificates(directory, NAMES, NOW, 'none')).rejects.toThrow(
      new CertificateDirectoryError(
        `${directory} no longer has tls.crt and tls.key from another issuer: restore them, or restart to have taintkeeper issue its own`,
      ),
    );
    expect(filesOf(directory)).toEqual(before);
  });

  it('takes the place of one of our own while we run', async () => {
    const directory = temporaryDirectory();
    await openCertificates(directory, NAMES, NOW);
    const { cert, private: key } = await generate([{ name: 'commonName', value: 'of my own' }], { keyType: 'ec' });
    write(directory, { 'tls.crt': cert, 'tls.key': key });

    expect(await openCertificates(directory, NAMES, NOW, 'servingOnly')).toMatchObject({
      serving: { cert, key },
      renews: 'nothing',
      issued: [],
    });
  });
});
