import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { reportCertificates } from '../../../src/certs/certificate-report.ts';
import { issuerOf, organizationsOf, subjectOf } from '../../../src/certs/distinguished-name.ts';
import { isIssuedByUs } from '../../../src/certs/issue.ts';
import { ed25519Pair, type Name } from '../talos/ed25519.ts';

const certificateOf = (subject: Name, issuer: Name) =>
  new X509Certificate(ed25519Pair(subject, ed25519Pair(issuer)).cert);

describe('the names of a certificate', () => {
  it.each([
    { subject: { commonName: 'cp-1' }, issuer: { organization: 'talos' }, says: ['cp-1', 'O=talos'] },
    { subject: { organization: 'a', commonName: 'b' }, issuer: {}, says: ['O=a, CN=b', '(no name)'] },
    { subject: {}, issuer: { commonName: 'ca' }, says: ['(no name)', 'ca'] },
  ])('are $says.0, issued by $says.1', ({ subject, issuer, says }) => {
    const certificate = certificateOf(subject, issuer);
    expect([subjectOf(certificate), issuerOf(certificate)]).toEqual(says);
  });

  it('may have no organization', () => {
    expect(organizationsOf(certificateOf({}, {}))).toEqual([]);
    expect(organizationsOf(certificateOf({ organization: 'os:admin', commonName: 'O=x' }, {}))).toEqual(['os:admin']);
  });
});

it('a certificate without names is reported as any other', () => {
  const certificate = certificateOf({}, {});
  expect(isIssuedByUs(certificate)).toBe(false);
  const files = { cert: certificate.toString(), key: undefined, bundle: certificate.toString(), caKey: undefined };
  expect(reportCertificates(files, [], [], new Date()).certificates.map(({ subject }) => subject)).toEqual([
    '(no name)',
    '(no name)',
  ]);
});
