import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseCertificates } from '../../../src/certs/bundle.ts';
import type { CertificateKeeper } from '../../../src/certs/certificate-keeper.ts';
import { issueCa } from '../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import { type ApiServerClock, certificateCheck } from '../../../src/replica/certificate-check.ts';
import { type AltName, issueAuthority, issueNamed } from '../certs/authorities.ts';

const DAY_MS = 86_400_000;
const NOW = new Date();
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

type Issued = Pick<ServableCertificates, 'serving' | 'certificate' | 'ca' | 'bundle'>;

/** A serving certificate, good for 90 days, and its CA, good for ten years, of these ages in days. */
async function issued({ days = 1, caDays = 1 }: { days?: number; caDays?: number }): Promise<Issued> {
  const issuer = await issueCa(daysAgo(caDays));
  const altNames: AltName[] = [{ type: 2, value: 'localhost' }];
  const serving = await issueNamed('localhost', altNames, { now: daysAgo(days - 1), ca: issuer });
  const [certificate, ca] = [serving.cert, issuer.cert].map((pem) => new X509Certificate(pem)) as [
    X509Certificate,
    X509Certificate,
  ];
  return { serving, certificate, ca, bundle: issuer.cert };
}
const [fresh, ending, expired, future, ofAging, ofOld, ofFuture] = await Promise.all([
  issued({}),
  issued({ days: 80, caDays: 80 }),
  issued({ days: 91, caDays: 91 }),
  issued({ days: -1 }),
  issued({ caDays: 3650 - 364 }),
  issued({ caDays: 3651 }),
  issued({ caDays: -1 }),
]);

/** Of an intermediate CA, whose certificate is in `tls.crt`. Only the root is in `ca.crt`. */
async function ofIntermediate({ middle = NOW, rootMiddle = NOW } = {}): Promise<Partial<ServableCertificates>> {
  const root = await issueAuthority('root', rootMiddle);
  const intermediate = await issueAuthority('intermediate', middle, root);
  const { cert, key } = await issueNamed('localhost', [{ type: 2, value: 'localhost' }], {
    now: NOW,
    ca: intermediate,
  });
  return {
    serving: { cert: `${cert}\n${intermediate.cert}`, key },
    certificate: new X509Certificate(cert),
    ca: new X509Certificate(root.cert),
    bundle: root.cert,
    renews: 'nothing',
  };
}
const LONG_AGO = daysAgo(400);
const IN_A_YEAR = daysAgo(-400);
const [chained, ofExpiredRoot, ofExpiredIntermediate, ofFutureIntermediate] = await Promise.all([
  ofIntermediate(),
  ofIntermediate({ rootMiddle: LONG_AGO }),
  ofIntermediate({ middle: LONG_AGO }),
  ofIntermediate({ middle: IN_A_YEAR }),
]);

const end = (one: X509Certificate | undefined) => one?.validToDate.toISOString();
const begin = (one: X509Certificate | undefined) => one?.validFromDate.toISOString();

it.each<{
  why: string;
  found?: Partial<ServableCertificates>;
  fault?: string;
  apiServer?: Partial<ApiServerClock> | undefined;
  state: string;
  detail: string;
}>([
  { why: 'of its own', state: 'ok', detail: `expires ${end(fresh.certificate)}, renewed in time` },
  {
    why: 'of another issuer',
    found: { renews: 'nothing' },
    state: 'ok',
    detail: `expires ${end(fresh.certificate)}, renewed by its issuer`,
  },
  {
    why: 'whose CA is not known',
    found: { renews: 'nothing', ca: undefined, bundle: undefined },
    state: 'ok',
    detail: `expires ${end(fresh.certificate)}, renewed by its issuer`,
  },
  {
    why: 'that is not for names asked for',
    found: { renews: 'nothing', uncovered: ['a.test', '::1'] },
    state: 'degraded',
    detail: `expires ${end(fresh.certificate)}, renewed by its issuer; it is not for a.test, ::1`,
  },
  {
    why: 'that is not for the name by which the API server calls',
    found: { renews: 'nothing', uncovered: ['taintkeeper.taintkeeper.svc'] },
    apiServer: {},
    state: 'failed',
    detail: 'it is not for taintkeeper.taintkeeper.svc',
  },
  {
    why: 'that is not for the name by which the API server calls, and expired,',
    found: { renews: 'nothing', ...expired, uncovered: ['taintkeeper.taintkeeper.svc'] },
    apiServer: {},
    state: 'failed',
    detail: `not valid after ${end(expired.certificate)}; it is not for taintkeeper.taintkeeper.svc`,
  },
  {
    why: 'that leads to no CA beside it',
    found: { renews: 'nothing', ca: undefined, bundle: ending.bundle },
    apiServer: {},
    state: 'failed',
    detail: 'not signed by the CA',
  },
  {
    why: 'that leads to no CA beside it, where the clients are not known,',
    found: { renews: 'nothing', ca: undefined, bundle: ending.bundle },
    state: 'ok',
    detail: `expires ${end(fresh.certificate)}, renewed by its issuer`,
  },
  {
    why: 'of another issuer, expiring within two weeks,',
    found: { renews: 'nothing', ...ending },
    state: 'degraded',
    detail: `expires ${end(ending.certificate)}, renewed by its issuer; it expires soon, and was not replaced`,
  },
  {
    why: 'whose CA, our own, ends within a year',
    found: { ...ofAging },
    state: 'degraded',
    detail: `expires ${end(ofAging.certificate)}, renewed in time; its CA expires ${end(ofAging.ca)}, and is not replaced by itself`,
  },
  {
    why: 'whose CA, of another issuer, ends within a year',
    found: { renews: 'nothing', ...ofAging },
    state: 'ok',
    detail: `expires ${end(ofAging.certificate)}, renewed by its issuer`,
  },
  {
    why: 'whose files are at fault',
    fault: 'ca.key is missing',
    state: 'degraded',
    detail: `expires ${end(fresh.certificate)}, renewed in time; ca.key is missing`,
  },
  {
    why: 'that expired',
    found: expired,
    state: 'failed',
    detail: `not valid after ${end(expired.certificate)}`,
  },
  {
    why: 'that is not valid yet',
    found: future,
    state: 'failed',
    detail: `not valid before ${begin(future.certificate)}; a clock was ahead when it was issued`,
  },
  {
    why: 'whose CA, of another issuer, expired',
    found: { renews: 'nothing', ...ofOld },
    state: 'failed',
    detail: `the CA is not valid after ${end(ofOld.ca)}`,
  },
  {
    why: 'of an intermediate CA',
    found: chained,
    apiServer: {},
    state: 'ok',
    detail: `expires ${end(chained.certificate)}, renewed by its issuer`,
  },
  {
    why: 'of an intermediate CA whose root has expired',
    found: ofExpiredRoot,
    state: 'failed',
    detail: `the CA is not valid after ${end(ofExpiredRoot.ca)}`,
  },
  {
    why: 'of an intermediate CA that has expired',
    found: ofExpiredIntermediate,
    state: 'failed',
    detail: `the CA is not valid after ${end(parseCertificates(ofExpiredIntermediate.serving?.cert ?? '')[1])}`,
  },
  {
    why: 'of an intermediate CA that is not valid yet',
    found: ofFutureIntermediate,
    state: 'failed',
    detail: `the CA is not valid before ${begin(parseCertificates(ofFutureIntermediate.serving?.cert ?? '')[1])}; a clock was ahead when it was issued`,
  },
  {
    why: 'whose CA is not valid yet',
    found: { renews: 'nothing', ...ofFuture },
    state: 'failed',
    detail: `the CA is not valid before ${begin(ofFuture.ca)}; a clock was ahead when it was issued`,
  },
  {
    why: 'whose CA, of the Secret, is not valid yet',
    found: { renews: 'all', ...ofFuture },
    state: 'failed',
    detail: `the CA is not valid before ${begin(ofFuture.ca)}; a clock was ahead when it was issued; the leader replaces it after ten minutes`,
  },
  {
    why: 'whose CA, of the Secret, is not valid yet by the clock of the API server',
    found: { renews: 'all', ...ofFuture },
    apiServer: { clocksAgree: false },
    state: 'failed',
    detail: `the CA is not valid before ${begin(ofFuture.ca)}; it is ${NOW.toISOString()} by the API server's clock, and this machine's clock differs`,
  },
  {
    why: 'that expired, with every other concern',
    found: { renews: 'nothing', ...expired, uncovered: ['a.test'] },
    fault: 'tls.crt is garbage',
    state: 'failed',
    detail: `not valid after ${end(expired.certificate)}; it is not for a.test; tls.crt is garbage`,
  },
])('a certificate $why is $state', ({ found, fault, apiServer, state, detail }) => {
  const current: ServableCertificates = {
    ...fresh,
    renews: 'serving',
    uncovered: [],
    ...found,
  };
  const keeper: CertificateKeeper = { current: () => current, fault: () => fault, stop: () => {} };

  expect(certificateCheck(keeper, apiServer && { now: NOW, clocksAgree: true, ...apiServer })).toEqual({
    name: 'certificate',
    state,
    detail,
  });
});
