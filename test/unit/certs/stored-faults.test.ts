import { describe, expect, it } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { otherIssuerFault } from '../../../src/certs/stored-faults.ts';
import type { StoredFiles } from '../../../src/certs/stored-files.ts';
import { type AltName, issueAuthority, issueNamed } from './authorities.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const ca = await issueCa(NOW);
const pair = await issueServing(ca, ['localhost', '10.0.0.1', '*.example.com'], NOW);
const other = await issueServing(ca, ['localhost'], NOW);
const LOCALHOST: AltName[] = [{ type: 2, value: 'localhost' }];

describe('certificates of another issuer', async () => {
  const complete = { cert: pair.cert, key: pair.key, bundle: undefined, caKey: undefined };
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
    { why: 'with an empty CA, as cert-manager writes it for an issuer that gives none', files: { bundle: '' } },
    { why: 'with the CA', files: { bundle: ca.cert } },
    {
      why: 'with the root alone, and a chain that leads to it',
      files: { cert: `${leaf.cert}\n${intermediate.cert}`, key: leaf.key, bundle: otherCa.cert },
    },
    {
      why: 'with the certificates of two intermediate CAs in any order',
      files: {
        cert: `${deepLeaf.cert}\n${intermediate.cert}\n${second.cert}`,
        key: deepLeaf.key,
        bundle: otherCa.cert,
      },
    },
    {
      why: 'with an intermediate certificate of the CA that did not sign the first one',
      files: { cert: `${pair.cert}\n${intermediate.cert}`, bundle: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    {
      why: 'with the CA itself after a certificate that it did not sign',
      files: { cert: `${pair.cert}\n${otherCa.cert}`, bundle: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    {
      why: 'with the root alone, and without the intermediate certificate',
      files: { cert: leaf.cert, key: leaf.key, bundle: otherCa.cert },
      fault: /^not signed by the CA$/,
    },
    { why: 'without the key', files: { key: undefined }, fault: /^not found$/ },
    { why: 'without the certificate', files: { cert: undefined }, fault: /^not found$/ },
    { why: 'with the key of another certificate', files: { key: other.key }, fault: /does not belong/ },
    { why: 'with another CA', files: { bundle: otherCa.cert }, fault: /^not signed by the CA$/ },
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
      files: { ...ofEndedRoot, bundle: endedRoot.cert },
      fault: /^the CA is not valid after 2026-04-27T12:00:00.000Z$/,
    },
    {
      why: 'of a CA that is not valid yet',
      files: { ...ofFutureRoot, bundle: futureRoot.cert },
      fault: /^the CA is not valid before 2026-07-06T12:00:00.000Z$/,
    },
    {
      why: 'of an intermediate CA that has expired, below a root that has not',
      files: {
        cert: `${ofEndedIntermediate.cert}\n${endedIntermediate.cert}`,
        key: ofEndedIntermediate.key,
        bundle: otherCa.cert,
      },
      fault: /^the CA is not valid after 2026-04-27T12:00:00.000Z$/,
    },
    {
      why: 'beside another CA that has expired',
      files: { bundle: `${endedRoot.cert}\n${ca.cert}` },
    },
  ])('$why', ({ files = {}, names = ['localhost'], now = NOW, fault }) => {
    const found = otherIssuerFault({ ...complete, ...files }, names, now);
    expect(found).toEqual(fault === undefined ? undefined : expect.stringMatching(fault));
  });
});
