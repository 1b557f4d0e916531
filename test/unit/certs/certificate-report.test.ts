import { expect, it } from 'vitest';
import { reportCertificates } from '../../../src/certs/certificate-report.ts';
import { issueServing } from '../../../src/certs/issue.ts';
import { introduceCa, nextStep } from '../../../src/certs/rotation.ts';
import type { CompleteFiles } from '../../../src/certs/stored-files.ts';
import { issueAuthority, issueNamed } from './authorities.ts';

const DAY_MS = 86_400_000;
const NOW = new Date('2026-06-01T12:00:00Z');
const NAMES = ['taintkeeper.taintkeeper.svc'];
const STATE = { now: NOW, names: NAMES, trusted: true, overlapMs: 1000, futureForMs: 0 };
const NOTHING = { cert: undefined, key: undefined, bundle: undefined, caKey: undefined };

const good = (await nextStep(NOTHING, STATE))?.files as CompleteFiles;
const otherIssuers = { ...good, caKey: undefined };
const introduced = (await introduceCa(good, NOW, 'asked for')).files;
const used = (await nextStep(introduced, STATE))?.files as CompleteFiles;

const report = (files: Parameters<typeof reportCertificates>[0], bundle = good.bundle, now = NOW) =>
  reportCertificates(files, [{ webhook: 'w', bundle }], NAMES, now);

it('of certificates that are well names them, and has no problem', () => {
  const found = report(good);
  expect(found.certificates).toMatchObject([
    { role: 'CA', expires: '2036-05-29T12:00:00.000Z' },
    { role: 'serving', subject: 'taintkeeper', names: NAMES, expires: '2026-08-30T12:00:00.000Z' },
  ]);
  expect(found).toMatchObject({ problems: [], rotating: undefined, webhooks: [{ webhook: 'w', trusts: 'all' }] });
});

it('takes a pair of another issuer for well until it ends: when that renews is not known', () => {
  const late = new Date(NOW.getTime() + 70 * DAY_MS);
  expect(report(otherIssuers, otherIssuers.bundle, late)).toMatchObject({ problems: [], renewedBy: 'another issuer' });
  expect(report(good)).toMatchObject({ renewedBy: 'taintkeeper' });
});

const root = await issueAuthority('root', NOW);
const intermediate = await issueAuthority('intermediate', NOW, root);
const leaf = await issueServing(intermediate, NAMES, NOW);
const chained = { cert: `${leaf.cert}\n${intermediate.cert}`, key: leaf.key, bundle: root.cert, caKey: undefined };

const ended = await issueAuthority('ended', new Date(NOW.getTime() - 400 * DAY_MS));
const ofEnded = await issueNamed('taintkeeper', [{ type: 2, value: NAMES[0] ?? '' }], { now: NOW, ca: ended });
const ofEndedCa = { ...ofEnded, bundle: ended.cert, caKey: undefined };
const ENDED = 'the CA is not valid after 2026-04-27T12:00:00.000Z';

it.each([
  { why: 'which the Secret has', bundle: ended.cert, problems: [`the certificates are not usable: ${ENDED}`] },
  { why: 'which only the caBundle has', bundle: undefined, problems: [] },
])('has the problem of another issuer whose CA has expired, $why, and of the caBundle', ({ bundle, problems }) => {
  expect(report({ ...ofEndedCa, bundle }, ended.cert)).toMatchObject({
    problems: [...problems, `the caBundle of w does not trust the serving certificate: ${ENDED}`],
    webhooks: [{ trusts: 'neither' }],
  });
});

it.each([
  {
    why: 'whose CA is only in the caBundle',
    files: { bundle: undefined },
    bundle: otherIssuers.bundle,
    trusts: 'the serving CA',
  },
  { why: 'without a CA and a caBundle', files: { bundle: undefined }, bundle: '', trusts: "the API server's own CAs" },
  { why: 'of an intermediate CA, with the root alone', files: chained, bundle: root.cert, trusts: 'all' },
])('takes a pair of another issuer for well $why', ({ files, bundle, trusts }) => {
  expect(report({ ...otherIssuers, ...files }, bundle)).toMatchObject({ problems: [], webhooks: [{ trusts }] });
});

it.each([
  {
    why: 'a CA that is introduced',
    files: introduced,
    trusts: 'the serving CA',
    rotating: 'the serving certificate is replaced',
  },
  { why: 'an earlier CA that runs out', files: used, trusts: 'all', rotating: 'the earlier CA is removed' },
])('says what a rotation waits for: $why', ({ files, trusts, rotating }) => {
  const found = report(files, files === used ? used.bundle : good.bundle);
  expect(found.problems).toEqual([]);
  expect(found.webhooks).toEqual([{ webhook: 'w', trusts }]);
  expect(found.rotating).toContain(rotating);
  expect(found.certificates.map(({ role }) => role)).toEqual(['CA', 'earlier CA', 'serving']);
});

it('has the problem of a CA that is not valid yet, although it has issued a certificate', () => {
  const before = new Date(NOW.getTime() - DAY_MS);
  const found = report(good, good.bundle, before);
  expect(found.problems).toContainEqual(
    'the CA is not valid before 2026-06-01T11:00:00.000Z: a clock was ahead when it was issued',
  );
});

it.each([
  {
    why: 'an empty caBundle',
    found: report(good, ''),
    problem: 'the caBundle of w does not trust the serving certificate',
  },
  {
    why: 'the bundle of before',
    found: report(used),
    problem: 'the caBundle of w does not trust the serving certificate',
  },
  { why: 'nothing stored', found: report(NOTHING), problem: 'the certificates are not usable: not found' },
  {
    why: 'an expired pair of another issuer',
    found: report(otherIssuers, otherIssuers.bundle, new Date(NOW.getTime() + 91 * DAY_MS)),
    problem: 'the certificates are not usable: not valid after 2026-08-30T12:00:00.000Z',
  },
  {
    why: 'a pair of another issuer that no caBundle trusts',
    found: report(otherIssuers, ''),
    problem: 'the caBundle of w does not trust the serving certificate',
  },
  {
    why: 'a pair of another issuer without its CA, and a caBundle with another CA',
    found: report({ ...otherIssuers, bundle: undefined }, root.cert),
    problem: 'the caBundle of w does not trust the serving certificate',
  },
  {
    why: 'a renewal that is overdue',
    found: report(good, good.bundle, new Date(NOW.getTime() + 70 * DAY_MS)),
    problem: 'the serving certificate should have been renewed: not valid after 2026-08-30T12:00:00.000Z',
  },
  {
    why: 'one that has ended',
    found: report(good, good.bundle, new Date(NOW.getTime() + 91 * DAY_MS)),
    problem: 'the certificates are not usable: not valid after 2026-08-30T12:00:00.000Z',
  },
])('finds a problem: $why', ({ found, problem }) => {
  expect(found.problems).toContain(problem);
});

it('holds no private key', () => {
  expect(JSON.stringify(report(used))).not.toContain('PRIVATE');
});
