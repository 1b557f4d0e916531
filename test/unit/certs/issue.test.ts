import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { needsOpenssl, openssl } from './openssl.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const ca = await issueCa(NOW);
const NAMES = ['localhost', '127.0.0.1', '::1', 'taintkeeper.taintkeeper.svc', '*.example.com', '2001:DB8::7'];

describe('the CA', () => {
  it('is one, on P-256, valid from an hour back for ten years', () => {
    const certificate = new X509Certificate(ca.cert);

    expect(certificate.ca).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(createPrivateKey(ca.key).asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(certificate.validFromDate).toEqual(new Date('2026-06-01T11:00:00Z'));
    expect(certificate.validToDate).toEqual(new Date('2036-05-29T12:00:00Z'));
  });

  it('has a subject of its own each time', async () => {
    expect(new X509Certificate((await issueCa(NOW)).cert).subject).not.toBe(new X509Certificate(ca.cert).subject);
  });
});

describe('the serving certificate', () => {
  it('is signed by the CA, no CA itself, on P-256, valid from an hour back for 90 days', async () => {
    const pair = await issueServing(ca, NAMES, NOW);
    const certificate = new X509Certificate(pair.cert);

    expect(certificate.ca).toBe(false);
    expect(certificate.verify(new X509Certificate(ca.cert).publicKey)).toBe(true);
    expect(certificate.checkIssued(new X509Certificate(ca.cert))).toBe(true);
    expect(createPrivateKey(pair.key).asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(certificate.validFromDate).toEqual(new Date('2026-06-01T11:00:00Z'));
    expect(certificate.validToDate).toEqual(new Date('2026-08-30T12:00:00Z'));
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  it('is for the names it was asked for, and no others', async () => {
    const certificate = new X509Certificate((await issueServing(ca, NAMES, NOW)).cert);

    for (const host of ['localhost', 'taintkeeper.taintkeeper.svc', 'a.example.com']) {
      expect.soft(certificate.checkHost(host), host).toBeTypeOf('string');
    }
    for (const ip of ['127.0.0.1', '::1', '2001:db8::7']) expect.soft(certificate.checkIP(ip), ip).toBe(ip);
    for (const host of ['taintkeeper', 'svc', 'a.b.example.com']) {
      expect.soft(certificate.checkHost(host), host).toBeUndefined();
    }
    expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
  });

  it('has a key of its own each time', async () => {
    const [first, second] = await Promise.all([issueServing(ca, NAMES, NOW), issueServing(ca, NAMES, NOW)]);
    expect(first.key).not.toBe(second.key);
  });

  it.each(['localhost', '127.0.0.1'])("passes Node's TLS for %s, with nothing but the CA given", async (host) => {
    const fresh = await issueCa(new Date());
    const server = createServer(await issueServing(fresh, ['localhost', '127.0.0.1'], new Date()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const client = connect({
      port,
      host: '127.0.0.1',
      ca: fresh.cert,
      ...(host === 'localhost' ? { servername: host } : {}),
    });
    onTestFinished(() => void client.destroy());
    await once(client, 'secureConnect');

    expect(client.authorized).toBe(true);
  });

  it("passes OpenSSL's strict check of the chain", needsOpenssl, async () => {
    const directory = temporaryDirectory();
    const path = (name: string) => join(directory, name);
    const fresh = await issueCa(new Date());
    const other = await issueCa(new Date());
    const pair = await issueServing(fresh, NAMES, new Date());
    writeFileSync(path('other.crt'), other.cert);
    // As while a CA is replaced: the old one and the new one in one bundle.
    writeFileSync(path('bundle.crt'), `${other.cert}\n${fresh.cert}`);
    writeFileSync(path('tls.crt'), pair.cert);
    const verify = (bundle: string, ...args: string[]) =>
      openssl('verify', '-purpose', 'sslserver', ...args, '-CAfile', path(bundle), path('tls.crt'));

    expect(verify('bundle.crt', '-verify_hostname', 'taintkeeper.taintkeeper.svc')).toContain('OK');
    expect(verify('bundle.crt', '-verify_ip', '::1')).toContain('OK');
    expect(() => verify('bundle.crt', '-verify_hostname', 'elsewhere')).toThrow('hostname mismatch');
    expect(() => verify('other.crt')).toThrow('unable to get local issuer certificate');
  });
});
