import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { checkServerIdentity, namesOf, uncoveredNames } from '../../../src/certs/certificate-names.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { type AltName, issueNamed } from './authorities.ts';

const SERVICE = 'taintkeeper.taintkeeper.svc';

const dns = (value: string): AltName => ({ type: 2, value });
const ip = (address: string): AltName => ({ type: 7, ip: address });

async function certificateFor(commonName: string, altNames: readonly AltName[]): Promise<X509Certificate> {
  return new X509Certificate((await issueNamed(commonName, altNames)).cert);
}

interface Case {
  readonly why: string;
  readonly commonName?: string;
  readonly altNames: readonly AltName[];
  readonly name: string;
}

/** Go 1.26 (`VerifyHostname` of crypto/x509) was asked about each of these certificates, and decided the same. */
const ACCEPTED: readonly Case[] = [
  { why: 'the name itself', altNames: [dns(SERVICE)], name: SERVICE },
  { why: 'one of several names', altNames: [dns('localhost'), ip('10.0.0.1'), dns(SERVICE)], name: SERVICE },
  { why: 'the name in other letters', altNames: [dns('TaintKeeper.taintkeeper.SVC')], name: SERVICE },
  { why: '* for the first label', altNames: [dns('*.taintkeeper.svc')], name: SERVICE },
  { why: '*, which the name has as well', altNames: [dns('*.taintkeeper.svc')], name: '*.taintkeeper.svc' },
  { why: 'an address', altNames: [ip('10.0.0.1')], name: '10.0.0.1' },
  { why: 'an IPv6 address in another form', altNames: [ip('2001:db8::7')], name: '2001:DB8:0::7' },
];
const REFUSED: readonly Case[] = [
  { why: 'the name is only the Common Name', commonName: SERVICE, altNames: [], name: SERVICE },
  {
    why: 'the name is only the Common Name, beside an address',
    commonName: SERVICE,
    altNames: [ip('10.0.0.1')],
    name: SERVICE,
  },
  {
    why: 'the name is only the Common Name, beside an email address',
    commonName: SERVICE,
    altNames: [{ type: 1, value: 'admin@example.com' }],
    name: SERVICE,
  },
  {
    why: 'the name is only the Common Name, beside another name',
    commonName: SERVICE,
    altNames: [dns('other')],
    name: SERVICE,
  },
  { why: '* is the end of a label', altNames: [dns('t*.taintkeeper.svc')], name: SERVICE },
  { why: '* is the beginning of a label', altNames: [dns('*r.taintkeeper.svc')], name: SERVICE },
  { why: '* is the second label', altNames: [dns('taintkeeper.*.svc')], name: SERVICE },
  { why: '* stands for one label only', altNames: [dns('*.svc')], name: SERVICE },
  { why: '* stands for one label each', altNames: [dns('*.*.svc')], name: SERVICE },
  { why: '* is the whole name', altNames: [dns('*')], name: 'localhost' },
  { why: 'a name is not for what is below it', altNames: [dns('taintkeeper.svc')], name: SERVICE },
  { why: 'a dot at the beginning does not change that', altNames: [dns('.taintkeeper.svc')], name: SERVICE },
  { why: 'a dot at the end is part of the name', altNames: [dns(`${SERVICE}.`)], name: SERVICE },
  { why: 'a comma does not end a name', altNames: [dns(`other, DNS:${SERVICE}`)], name: SERVICE },
  { why: 'an address is not a DNS name', altNames: [dns('10.0.0.1')], name: '10.0.0.1' },
  { why: 'an address is only the Common Name', commonName: '10.0.0.1', altNames: [], name: '10.0.0.1' },
  { why: 'it is another address', altNames: [ip('10.0.0.1')], name: '10.0.0.2' },
  { why: 'an address with a zone is none', altNames: [ip('fe80::1')], name: 'fe80::1%eth0' },
  { why: 'it is for nothing', altNames: [], name: SERVICE },
];

it.each([
  ...ACCEPTED.map((one) => ({ ...one, isFor: true, decision: 'is for' })),
  ...REFUSED.map((one) => ({ ...one, isFor: false, decision: 'is not for' })),
])('a certificate $decision $name: $why', async ({ commonName = 'other', altNames, name, isFor }) => {
  const certificate = await certificateFor(commonName, altNames);
  expect(uncoveredNames(certificate, [name])).toEqual(isFor ? [] : [name]);
  expect(checkServerIdentity(name, certificate) === undefined).toBe(isFor);
});

it('only the names that a certificate is not for are uncovered', async () => {
  const certificate = await certificateFor('other', [dns('localhost'), ip('10.0.0.1')]);
  expect(uncoveredNames(certificate, ['localhost', 'b', '10.0.0.1', '::1'])).toEqual(['b', '::1']);
  expect(uncoveredNames(certificate, [])).toEqual([]);
});

it.each([
  { altNames: [dns('localhost'), ip('::1')], says: `the certificate is not for ${SERVICE}, but for localhost, ::1` },
  { altNames: [], says: `the certificate is not for ${SERVICE}, but for no name at all` },
])('the error says which names the certificate has: $says', async ({ altNames, says }) => {
  const certificate = await certificateFor(SERVICE, altNames);
  expect(checkServerIdentity(SERVICE, certificate)).toEqual(new Error(says));
});

it.each([{ names: ['localhost', '*.example.com'] }, { names: ['10.0.0.1', '::1', 'fe80::1:0:2'] }])(
  'a certificate for $names names them as they were asked for',
  async ({ names }) => {
    const { cert } = await issueServing(await issueCa(new Date()), names, new Date());
    expect(namesOf(new X509Certificate(cert))).toEqual(names);
  },
);

it('a certificate for no name names none', async () => {
  expect(namesOf(new X509Certificate((await issueCa(new Date())).cert))).toEqual([]);
});
