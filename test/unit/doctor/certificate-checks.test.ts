import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseCertificates } from '../../../src/certs/bundle.ts';
import type { KeyPair } from '../../../src/certs/issue.ts';
import { CERTIFICATE_CHECKS, type CheckState } from '../../../src/doctor/check.ts';
import type { Dialled } from '../../../src/doctor/facts/dial.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import { failedReading, readingOf } from '../../../src/doctor/facts/reading.ts';
import { issueAuthority, issueNamed } from '../certs/authorities.ts';
import { certificates, DAY_MS, greeted, NOW, pod, replica, run, webhook, wellFacts } from './facts.ts';

const HOUR_MS = 3_600_000;
const NAME = 'taintkeeper.taintkeeper.svc';
const its = await certificates();
const others = await certificates();
const expired = await certificates({ days: 91, by: its.ca });
const ancient = await certificates({ days: 3700 });
const old = await certificates({ days: 80, by: its.ca });
const future = await certificates({ days: -3650 });
const sinceThen = await certificates({ by: future.ca });
const misnamed = await certificates({ names: ['other.taintkeeper.svc'], by: its.ca });
const second = await certificates({ by: its.ca });
const commonNameOnly = {
  ca: its.ca,
  serving: await issueNamed('taintkeeper.taintkeeper.svc', [], { now: NOW, ca: its.ca }),
};

const filesOf = ({ ca, serving }: typeof its) =>
  readingOf({ cert: serving.cert, key: serving.key, bundle: ca.cert, caKey: ca.key });
const served = (...dialled: ReturnType<typeof greeted>[]) =>
  dialled.map((one, index) => replica('ab'[index] ?? '', one));
/** Somebody who has a certificate, and does not answer a review. */
const noWebhook = (pair: typeof its): Dialled => {
  const chain = [new X509Certificate(pair.serving.cert)];
  return { outcome: 'greeted', greeting: { chain, refusal: 'HTTP 404', clockAheadMs: undefined } };
};
const dead = { outcome: 'failed', fault: { kind: 'refused', message: 'connect ECONNREFUSED' } } as const;

interface Case {
  readonly why: string;
  readonly facts: Facts;
  /** Those that are not ok. */
  readonly found: Record<string, CheckState>;
  /** What the problems, or else the others that are not ok, say. */
  readonly says?: RegExp;
}

describe('certificates', () => {
  it('that are well, are said to be', () => {
    const checks = run(CERTIFICATE_CHECKS, wellFacts(its));
    expect(checks.map(({ state }) => state)).toEqual(Array(6).fill('ok'));
    expect(checks.map(({ evidence }) => evidence)).toContain(
      '2 replicas checked (port-forward), valid until 2026-08-29T12:00:00.000Z',
    );
  });

  it.each<Case>([
    {
      why: 'an expired leaf is one problem: the check of agreement is skipped',
      facts: wellFacts(its, { replicas: served(greeted(expired), greeted(expired)), secret: filesOf(expired) }),
      found: { 'serving certificate': 'problem', 'agreement of replicas': 'skipped' },
      says: /^the certificate of a, b is not valid after 2026-05-31T.*; it is 2026-06-01T12:00:00.000Z now$/,
    },
    {
      why: 'a leaf that expires soon, although its issuer should have renewed it',
      facts: wellFacts(its, { replicas: served(greeted(old), greeted(old)), secret: filesOf(old) }),
      found: { 'serving certificate': 'note' },
      says: /which is soon/,
    },
    {
      why: 'a name that is missing',
      facts: wellFacts(its, { replicas: served(greeted(misnamed), greeted(misnamed)), secret: filesOf(misnamed) }),
      found: { 'certificate names': 'problem' },
      says: /^the API server asks for taintkeeper.taintkeeper.svc, and the certificate of a, b is for other.taintkeeper.svc/,
    },
    {
      why: 'a name that is only the Common Name, which the API server ignores',
      facts: wellFacts(its, {
        replicas: served(greeted(commonNameOnly), greeted(commonNameOnly)),
        secret: filesOf(commonNameOnly),
      }),
      found: { 'certificate names': 'problem' },
      says: /^the API server asks for taintkeeper.taintkeeper.svc, and the certificate of a, b is for no name at all$/,
    },
    {
      why: 'another CA in the caBundle',
      facts: wellFacts(its, {
        webhooks: readingOf([
          webhook('restore.taintkeeper.dev', its.ca.cert),
          webhook('protect.taintkeeper.dev', others.ca.cert),
        ]),
      }),
      found: { caBundle: 'problem' },
      says: /^protect.taintkeeper.dev: the caBundle trusts taintkeeper CA \w+, and the certificate was issued by taintkeeper CA \w+$/,
    },
    {
      why: 'no caBundle',
      facts: wellFacts(its, { webhooks: readingOf([webhook('protect.taintkeeper.dev', undefined)]) }),
      found: { caBundle: 'problem' },
      says: /^protect.taintkeeper.dev: no readable caBundle/,
    },
    {
      why: 'no caBundle, where another issuer gives no CA: the system of the API server has it',
      facts: wellFacts(its, {
        webhooks: readingOf([webhook('protect.taintkeeper.dev', undefined)]),
        certificateSource: { kind: 'files', secret: 'public-certificate' },
      }),
      found: { caBundle: 'note' },
      says: /^no webhook has a caBundle/,
    },
    {
      why: 'replicas of which one is not trusted',
      facts: wellFacts(its, { replicas: served(greeted(its), greeted(others)) }),
      found: { 'agreement of replicas': 'problem', caBundle: 'skipped' },
      says: /^Secret taintkeeper-certs holds [0-9A-F:]+, a serves .*, b serves .*; the API server does not trust b$/,
    },
    {
      why: 'a single replica that has not read what the Secret holds, and the caBundle trusts',
      facts: wellFacts(its, { replicas: served(greeted(others)) }),
      found: { 'agreement of replicas': 'problem', caBundle: 'skipped' },
      says: /does not trust a$/,
    },
    {
      why: 'replicas with different certificates that the API server trusts: only a note',
      facts: wellFacts(its, { replicas: served(greeted(its), greeted(second)) }),
      found: { 'agreement of replicas': 'note' },
    },
    {
      why: "the Service's address leads to a server whose certificate the API server does not trust",
      facts: wellFacts(its, { overService: [greeted(others), greeted(its), greeted(others)] }),
      found: { 'agreement of replicas': 'problem', caBundle: 'skipped' },
      says: /does not trust Service taintkeeper$/,
    },
    {
      why: "the Service's address leads to a server that is no webhook: its certificate is ignored",
      facts: wellFacts(its, { overService: [noWebhook(others)] }),
      found: {},
    },
    {
      why: 'no Secret is a problem, even while the replicas serve a trusted certificate',
      facts: wellFacts(its, { secret: readingOf(undefined) }),
      found: { Secret: 'problem' },
      says: /Secret taintkeeper\/taintkeeper-certs not found/,
    },
    {
      why: 'no Secret, because no replica has started that would create it',
      facts: wellFacts(its, {
        secret: readingOf(undefined),
        replicas: [],
        pods: readingOf([pod('a', { isReady: false, problem: 'ErrImagePull', cannotStart: 'image' })]),
      }),
      found: {
        Secret: 'skipped',
        'agreement of replicas': 'skipped',
        caBundle: 'skipped',
        'certificate names': 'skipped',
        'serving certificate': 'skipped',
      },
    },
    {
      why: 'no Secret, because there is no replica that would create it',
      facts: wellFacts(its, { secret: readingOf(undefined), replicas: [], pods: readingOf([]) }),
      found: {
        Secret: 'skipped',
        'agreement of replicas': 'skipped',
        caBundle: 'skipped',
        'certificate names': 'skipped',
        'serving certificate': 'skipped',
      },
    },
    {
      why: 'nothing is left of the installation: no Deployment could be restarted to create it',
      facts: wellFacts(its, { secret: readingOf(undefined), service: readingOf(undefined), replicas: [] }),
      found: {
        Secret: 'skipped',
        'agreement of replicas': 'skipped',
        caBundle: 'skipped',
        'certificate names': 'skipped',
        'serving certificate': 'skipped',
      },
    },
    {
      why: 'a Secret that has a part only',
      facts: wellFacts(its, {
        secret: readingOf({ cert: its.serving.cert, key: undefined, bundle: its.ca.cert, caKey: its.ca.key }),
        replicas: served(dead),
      }),
      found: {
        Secret: 'problem',
        'serving certificate': 'skipped',
        'certificate names': 'skipped',
        'agreement of replicas': 'skipped',
        caBundle: 'skipped',
      },
      says: /cannot be served: a part of it is missing/,
    },
    {
      why: 'a Secret from another issuer, without a CA key',
      facts: wellFacts(its, {
        secret: readingOf({ cert: its.serving.cert, key: its.serving.key, bundle: undefined, caKey: undefined }),
      }),
      found: {},
    },
    {
      why: 'no right to see the Secret: what is served can be seen all the same',
      facts: wellFacts(its, { secret: failedReading('you may not get resource "secrets"') }),
      found: { Secret: 'skipped' },
      says: /you may not/,
    },
    {
      why: 'certificates from files',
      facts: wellFacts(its, { certificateSource: { kind: 'files', secret: undefined }, secret: readingOf(undefined) }),
      found: {},
    },
    {
      why: 'no webhook: there is no caBundle to check',
      facts: wellFacts(its, { webhooks: readingOf([]) }),
      found: { caBundle: 'skipped' },
    },
    ...[
      {
        why: 'and its certificate',
        pair: future,
        others: { 'serving certificate': 'skipped', 'agreement of replicas': 'skipped' } as const,
      },
      { why: 'and has issued a certificate since then', pair: sinceThen, others: {} },
    ].map(
      ({ why, pair, others }): Case => ({
        why: `a CA from a clock that was ahead, ${why}: the one problem is the CA`,
        facts: wellFacts(pair),
        found: { Secret: 'problem', caBundle: 'skipped', ...others },
        says: /^the CA of Secret taintkeeper\/taintkeeper-certs is not valid before 2036-.*: a clock was ahead when it was issued$/,
      }),
    ),
    {
      why: "a replica's clock that is ahead",
      facts: wellFacts(its, { replicas: served(greeted(its, HOUR_MS), greeted(its)) }),
      found: { clocks: 'problem' },
      says: /^it is 2026-06-01T12:00:00.000Z by the API server, and the clock of a is 1 h 0 min ahead$/,
    },
    {
      why: "the API server's clock that is behind that of all others",
      facts: wellFacts(its, { apiServerAheadMs: -HOUR_MS }),
      found: { clocks: 'problem' },
      says: /by this machine, and the clock of the API server is 1 h 0 min behind$/,
    },
    {
      why: "this machine's clock, which is no replica's",
      facts: wellFacts(its, { apiServerAheadMs: HOUR_MS, replicas: served(greeted(its, HOUR_MS)) }),
      found: { clocks: 'problem' },
      says: /the clock of this machine is 1 h 0 min behind$/,
    },
    {
      why: "the clock of the API server or of this machine, if no replica's is known",
      facts: wellFacts(its, { apiServerAheadMs: -2 * HOUR_MS, replicas: [] }),
      found: {
        clocks: 'problem',
        'serving certificate': 'skipped',
        'certificate names': 'skipped',
        'agreement of replicas': 'skipped',
        caBundle: 'skipped',
      },
      says: /^the clocks differ: it is 2026-06-01T10:00:00.000Z by the API server, 2026-06-01T12:00:00.000Z by this machine$/,
    },
    {
      why: 'three clocks that all differ: none of them is blamed',
      facts: wellFacts(its, { apiServerAheadMs: -HOUR_MS, replicas: served(greeted(its, HOUR_MS)) }),
      found: { clocks: 'problem' },
      says: /^the clocks differ: it is .*T11:00:00.000Z by the API server, .*T13:00:00.000Z by a, .*T12:00:00.000Z by this machine$/,
    },
    {
      why: "the clocks of the API server and of this machine, which differ from both replicas'",
      facts: wellFacts(its, {
        apiServerAheadMs: -HOUR_MS,
        replicas: served(greeted(its, HOUR_MS), greeted(its, HOUR_MS)),
      }),
      found: { clocks: 'problem' },
      says: /by a, and the clock of the API server is 2 h 0 min behind, that of this machine is 1 h 0 min behind$/,
    },
    {
      why: 'two clocks that agree, and differ from two others that agree: none of them is blamed',
      facts: wellFacts(its, { replicas: served(greeted(its, HOUR_MS), greeted(its, HOUR_MS)) }),
      found: { clocks: 'problem' },
      says: /^the clocks differ: it is .*T12:00:00.000Z by the API server, .*T13:00:00.000Z by a, .*T13:00:00.000Z by b, .*T12:00:00.000Z by this machine$/,
    },
    {
      why: 'a clock that agrees with two others which differ: none of them is blamed',
      facts: wellFacts(its, { apiServerAheadMs: -240_000, replicas: served(greeted(its, 240_000)) }),
      found: { clocks: 'problem' },
      says: /^the clocks differ: it is /,
    },
    {
      why: 'clocks by which the certificate is not yet valid: they are to blame, not it',
      facts: wellFacts(its, { apiServerAheadMs: -2 * DAY_MS }),
      found: {
        clocks: 'problem',
        'serving certificate': 'skipped',
        'agreement of replicas': 'skipped',
        Secret: 'ok',
        caBundle: 'skipped',
      },
      says: /API server is 48 h 0 min behind$/,
    },
  ])('$why', ({ facts, found, says }) => {
    const checks = run(CERTIFICATE_CHECKS, facts);
    const notOk = checks.filter(({ state }) => state !== 'ok');
    const expected = Object.entries(found).filter(([, state]) => state !== 'ok');
    expect(Object.fromEntries(notOk.map(({ name, state }) => [name, state]))).toEqual(Object.fromEntries(expected));
    const problems = checks.filter(({ state }) => state === 'problem');
    if (says) expect((problems[0] ?? notOk[0])?.evidence).toMatch(says);
    for (const { remedy } of problems) expect(remedy).toBeDefined();
  });

  it('never show a key', () => {
    const text = JSON.stringify(run(CERTIFICATE_CHECKS, wellFacts(its, { pods: readingOf([pod('a')]), now: NOW })));
    expect(text).not.toContain('PRIVATE');
    for (const line of its.serving.key.split('\n').slice(1, 3)) expect(text).not.toContain(line);
  });
});

it('a CA that is not valid yet is replaced by the leader, at once on request', () => {
  expect(run(['Secret'], wellFacts(sinceThen))[0]?.remedy).toBe(
    'the leader replaces it after ten minutes. At once: taintkeeper certs rotate --ca --namespace taintkeeper',
  );
});

it('an expired certificate is replaced with its CA, if that is not valid yet', () => {
  const secret = readingOf({
    cert: expired.serving.cert,
    key: expired.serving.key,
    bundle: `${future.ca.cert}\n${its.ca.cert}`,
    caKey: future.ca.key,
  });
  const facts = wellFacts(its, { replicas: served(greeted(expired)), secret });
  expect(run(['serving certificate'], facts)[0]?.remedy).toBe('taintkeeper certs rotate --ca --namespace taintkeeper');
});

it.each<{ why: string; facts: Facts; says: string }>([
  {
    why: 'the certificate has ended, and so has its CA',
    facts: wellFacts(ancient, { replicas: served(greeted(ancient)), secret: filesOf(ancient) }),
    says: 'the served certificate is not valid: see serving certificate',
  },
  {
    why: 'the replicas disagree',
    facts: wellFacts(its, { replicas: served(greeted(its), greeted(others)) }),
    says: 'the replicas serve different certificates: see agreement of replicas',
  },
  { why: 'the CA is from the future', facts: wellFacts(future), says: 'the CA is not valid yet: see Secret' },
  {
    why: 'the clock of the API server is wrong',
    facts: wellFacts(its, { apiServerAheadMs: -2 * DAY_MS }),
    says: "trusted by this machine's clock, and not by the API server's: see clocks",
  },
])('a caBundle that does not trust what is served names the cause: $why', ({ facts, says }) => {
  expect(run(['caBundle'], facts)).toEqual([expect.objectContaining({ state: 'skipped', evidence: says })]);
});

describe('certificates of another issuer', async () => {
  const before = new Date(NOW.getTime() - 800 * DAY_MS);
  const source = { kind: 'files', secret: 'taintkeeper-tls' } as const;
  const root = await issueAuthority('root', NOW);
  const expiredRoot = await issueAuthority('root', before);
  const renewedRoot = await issueAuthority('root', NOW, undefined, expiredRoot);
  const intermediate = await issueAuthority('intermediate', before, root);
  const valid = await issueAuthority('intermediate', NOW, root);

  /** Replicas that serve a valid certificate of the first CA, with the others of its chain. */
  async function serving(
    [issuer, chain]: [KeyPair, KeyPair[]],
    { stored = root, bundle = undefined as KeyPair | undefined } = {},
  ) {
    const { cert, key } = await issueNamed('', [{ type: 2, value: NAME }], { now: NOW, ca: issuer });
    const pem = [cert, ...chain.map((one) => one.cert)].join('\n');
    const greeting = { chain: parseCertificates(pem), refusal: undefined, clockAheadMs: 0 };
    return wellFacts(its, {
      certificateSource: source,
      secret: readingOf({ cert: pem, key, bundle: stored.cert, caKey: undefined }),
      replicas: served({ outcome: 'greeted', greeting }),
      webhooks: readingOf([webhook('protect.taintkeeper.dev', (bundle ?? stored).cert)]),
    });
  }

  it('a replica that has not read the Secret is to be restarted, if the chain of the Secret is trusted', async () => {
    const facts = await serving([valid, [valid]]);
    const checks = run(CERTIFICATE_CHECKS, { ...facts, replicas: served(greeted(others)) });
    expect(checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual([
      'agreement of replicas',
    ]);
  });

  const RENEWAL = /^have the issuer of Secret taintkeeper\/taintkeeper-tls renew it/;
  it.each<{ why: string; facts: Facts; remedy: RegExp }>([
    {
      why: 'an intermediate CA has expired: its issuer renews it',
      facts: await serving([intermediate, [intermediate]]),
      remedy: RENEWAL,
    },
    {
      why: 'an intermediate CA has expired, and you may not read the Secret: its issuer renews it',
      facts: {
        ...(await serving([intermediate, [intermediate]])),
        secret: failedReading('you may not get resource "secrets"'),
      },
      remedy: RENEWAL,
    },
    {
      why: 'the CA of the Secret has expired: its issuer renews it',
      facts: await serving([expiredRoot, []], { stored: expiredRoot }),
      remedy: RENEWAL,
    },
    {
      why: 'the CA of the caBundle has expired, and the Secret has it renewed: the leader writes it',
      facts: await serving([expiredRoot, []], { stored: renewedRoot, bundle: expiredRoot }),
      remedy: /^the leader repairs it within a minute/,
    },
  ])('$why', ({ facts, remedy }) => {
    const problems = run(CERTIFICATE_CHECKS, facts).filter(({ state }) => state === 'problem');
    expect(problems.map(({ name }) => name)).toEqual(['caBundle']);
    expect(problems[0]?.evidence).toMatch(
      /^protect.taintkeeper.dev: the caBundle does not trust the served certificate: the CA is not valid after 2025-03-\S+$/,
    );
    expect(problems[0]?.remedy).toMatch(remedy);
  });
});

describe('who repairs a caBundle', () => {
  const webhooks = readingOf([webhook('protect.taintkeeper.dev', others.ca.cert)]);
  const lease = readingOf({ holder: 'a_1', renewed: false, renewTime: undefined, watchedSeconds: 6 });
  const lacking = (resource: string) =>
    readingOf({
      user: 'u',
      reviewed: 50,
      missingNeeded: [{ verb: 'update', group: 'admissionregistration.k8s.io', resource, name: 'taintkeeper' }],
      missingOptional: [],
    });

  it.each<{ why: string; facts: Partial<Facts>; remedy: RegExp; problems?: string[] }>([
    { why: 'the leader', facts: {}, remedy: /^the leader repairs it within a minute\..* kubectl delete mutating/ },
    {
      why: 'no replica, if none leads: webhooks that are deleted then stay deleted',
      facts: { lease },
      remedy: /^the leader repairs it, and no replica leads: see leader$/,
      problems: ['leader'],
    },
    {
      why: 'no replica, if the leader may not write it',
      facts: { rights: lacking('mutatingwebhookconfigurations') },
      remedy: /^the leader repairs it, and it lacks a right: see rights$/,
      problems: ['rights'],
    },
    {
      why: 'the leader, if it lacks another right',
      facts: { rights: lacking('validatingadmissionpolicies') },
      remedy: /^the leader repairs it within a minute/,
      problems: ['rights'],
    },
  ])('$why', ({ facts, remedy, problems = [] }) => {
    const checks = run(['caBundle', 'leader', 'rights'], wellFacts(its, { webhooks, ...facts }));
    const found = checks.filter(({ state }) => state === 'problem');
    expect(found.map(({ name }) => name)).toEqual(['caBundle', ...problems]);
    expect(found[0]?.remedy).toMatch(remedy);
  });
});

describe('a rollout to the certificates of another issuer, which hangs', () => {
  const source = { kind: 'files', secret: 'taintkeeper-tls' } as const;
  const unready = pod('new', { isReady: false, problem: 'ContainerCreating' });
  const hanging = (stored: Facts['secret'], changes: Partial<Facts> = {}) =>
    wellFacts(its, {
      pods: readingOf([pod('a'), pod('b'), unready]),
      pendingCertificates: { source, secret: stored },
      ...changes,
    });
  const byIssuer = { cert: second.serving.cert, key: second.serving.key, bundle: undefined, caKey: undefined };

  it.each<{ why: string; facts: Facts; found: Record<string, CheckState>; says: RegExp; remedy?: RegExp }>([
    {
      why: 'its Secret is missing',
      facts: hanging(readingOf(undefined)),
      found: { Secret: 'note' },
      says: /^the pods that the rollout starts need another Secret: Secret taintkeeper\/taintkeeper-tls not found$/,
      remedy: /^have its issuer create it/,
    },
    {
      why: 'its Secret has no key',
      facts: hanging(readingOf({ ...byIssuer, key: undefined })),
      found: { Secret: 'note' },
      says: /taintkeeper-tls cannot be served: a part of it is missing$/,
      remedy: /^have the issuer of Secret taintkeeper\/taintkeeper-tls renew it/,
    },
    {
      why: 'its certificate is for another name',
      facts: hanging(readingOf({ ...byIssuer, cert: misnamed.serving.cert, key: misnamed.serving.key })),
      found: { Secret: 'note' },
      says: /taintkeeper-tls cannot be served: not for taintkeeper\.taintkeeper\.svc$/,
    },
    {
      why: 'its Secret is right: the cause is another one',
      facts: hanging(readingOf(byIssuer)),
      found: {},
      says: /^Secret taintkeeper\/taintkeeper-certs is complete/,
    },
    {
      why: 'the user may not read Secrets',
      facts: hanging(failedReading('you may not get resource "secrets"')),
      found: {},
      says: /^Secret taintkeeper\/taintkeeper-certs is complete/,
    },
    {
      why: 'its Secret is missing, and the served certificate has expired: each has its own remedy',
      facts: hanging(readingOf(undefined), {
        replicas: served(greeted(expired), greeted(expired)),
        secret: filesOf(expired),
      }),
      found: { Secret: 'note', 'serving certificate': 'problem', 'agreement of replicas': 'skipped' },
      says: /taintkeeper-tls not found$/,
    },
  ])('$why', ({ facts, found, says, remedy }) => {
    const checks = run(CERTIFICATE_CHECKS, facts);
    const notOk = checks.filter(({ state }) => state !== 'ok');
    expect(Object.fromEntries(notOk.map(({ name, state }) => [name, state]))).toEqual(found);
    const told = checks.filter(({ name }) => name === 'Secret').at(-1);
    expect(told?.evidence).toMatch(says);
    if (remedy) expect(told?.remedy).toMatch(remedy);
    expect(notOk.find(({ state }) => state === 'problem')?.remedy).toEqual(
      found['serving certificate'] && 'taintkeeper certs rotate --namespace taintkeeper',
    );
  });
});

describe('the remedy of an expired certificate needs no leader', () => {
  const restart = 'kubectl rollout restart --namespace taintkeeper deployment/taintkeeper';
  const replicas = served(greeted(expired));
  const withSecret = (files: Partial<Record<'cert' | 'key' | 'bundle' | 'caKey', string>>) =>
    wellFacts(expired, {
      replicas,
      secret: readingOf({ cert: undefined, key: undefined, bundle: undefined, caKey: undefined, ...files }),
    });
  const ca = { bundle: its.ca.cert, caKey: its.ca.key };
  const rotate = 'taintkeeper certs rotate --namespace taintkeeper';

  it.each<{ why: string; facts: Facts; remedy: string }>([
    { why: 'the CA can issue', facts: wellFacts(expired, { replicas, secret: filesOf(expired) }), remedy: rotate },
    { why: 'the serving certificate is missing', facts: withSecret(ca), remedy: rotate },
    {
      why: 'the Secret cannot be read',
      facts: wellFacts(expired, { replicas, secret: failedReading('forbidden') }),
      remedy: rotate,
    },
    {
      why: 'the CA has expired as well',
      facts: wellFacts(ancient, { replicas: served(greeted(ancient)), secret: filesOf(ancient) }),
      remedy: `a replica that starts issues a new one: ${restart}`,
    },
    {
      why: 'the Secret is missing',
      facts: wellFacts(expired, { replicas, secret: readingOf(undefined) }),
      remedy: `a replica that starts issues a new one: ${restart}`,
    },
    {
      why: 'another issuer wrote the Secret',
      facts: withSecret({ cert: expired.serving.cert, key: expired.serving.key }),
      remedy:
        'replace tls.crt and tls.key in Secret taintkeeper/taintkeeper-certs, or have a replica that starts issue its own: ' +
        `kubectl delete secret --namespace taintkeeper taintkeeper-certs && ${restart}`,
    },
  ])('$why', ({ facts, remedy }) => {
    expect(run(['serving certificate'], facts).map((check) => check.remedy)).toEqual([remedy]);
  });

  it.each<{ why: string; pods: Facts['pods']; command: string }>([
    { why: 'all pods run', pods: readingOf([pod('a'), pod('b')]), command: restart },
    {
      why: 'a rollout hangs, and another one would start no pod either',
      pods: readingOf([pod('new', { isReady: false, cannotStart: 'image' }), pod('a'), pod('b')]),
      command: 'kubectl delete pod --namespace taintkeeper a',
    },
    {
      why: 'a pod starts late: the rollout goes on',
      pods: readingOf([pod('new', { isReady: false, problem: 'ContainerCreating' }), pod('a'), pod('b')]),
      command: restart,
    },
    {
      why: 'no pod is Ready: the Deployment replaces those that cannot start',
      pods: readingOf([pod('a', { isReady: false, cannotStart: 'crash' })]),
      command: restart,
    },
    { why: 'the pods are not known', pods: failedReading('you may not list pods'), command: restart },
  ])('how a replica starts again: $why', ({ pods, command }) => {
    const facts = wellFacts(expired, { replicas, pods, secret: readingOf(undefined) });
    const remedies = run(['serving certificate'], facts).map(({ remedy }) => remedy);
    expect(remedies).toEqual([`a replica that starts issues a new one: ${command}`]);
  });

  it('of a certificate for another name is a restart, because `certs rotate` refuses such a Secret', () => {
    const facts = wellFacts(misnamed, { replicas: served(greeted(misnamed)), secret: filesOf(misnamed) });
    expect(run(['certificate names'], facts)[0]?.remedy).toContain(
      `If it is: a replica that starts issues a new one: ${restart}`,
    );
  });
});
