import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ServableCertificates } from '../../../src/certs/certificate-directory.ts';
import type { CertificateKeeper } from '../../../src/certs/certificate-keeper.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { openPolicyStore } from '../../../src/files/policy-files.ts';
import { type Caller, certificateCheck, policyCheck, stoppingCheck } from '../../../src/replica/readiness.ts';
import { taintPolicyYaml } from '../reviews.ts';

const DAY_MS = 86_400_000;
const NOW = new Date();
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

/** A CA's certificate, good for ten years, of that age in days. */
const caOfAge = async (days: number) => new X509Certificate((await issueCa(daysAgo(days))).cert);
const [freshCa, agingCa, oldCa, futureCa] = await Promise.all([1, 3650 - 364, 3651, -1].map(caOfAge));

/** A serving certificate, good for 90 days, of that age in days. */
async function certificateOfAge(days: number): Promise<X509Certificate> {
  return new X509Certificate((await issueServing(await issueCa(daysAgo(days)), ['localhost'], daysAgo(days))).cert);
}
const [fresh, ending, expired, future] = await Promise.all([
  certificateOfAge(1),
  certificateOfAge(80),
  certificateOfAge(91),
  certificateOfAge(-1),
]);

const end = (certificate: X509Certificate | undefined) => certificate?.validToDate.toISOString();
const begin = (certificate: X509Certificate | undefined) => certificate?.validFromDate.toISOString();

it.each<{
  why: string;
  found?: Partial<ServableCertificates>;
  fault?: string;
  caller?: Partial<Caller> | undefined;
  state: string;
  detail: string;
}>([
  { why: 'of its own', state: 'ok', detail: `expires ${end(fresh)}, renewed in time` },
  {
    why: 'of another issuer',
    found: { renews: 'nothing' },
    state: 'ok',
    detail: `expires ${end(fresh)}, renewed by its issuer`,
  },
  {
    why: 'whose CA is not known',
    found: { renews: 'nothing', ca: undefined },
    state: 'ok',
    detail: `expires ${end(fresh)}, renewed by its issuer`,
  },
  {
    why: 'that is not for names asked for',
    found: { renews: 'nothing', uncovered: ['a.test', '::1'] },
    state: 'degraded',
    detail: `expires ${end(fresh)}, renewed by its issuer; it is not for a.test, ::1`,
  },
  {
    why: 'that is not for the name by which the API server calls',
    found: { renews: 'nothing', uncovered: ['taintkeeper.taintkeeper.svc'] },
    caller: {},
    state: 'failed',
    detail: 'it is not for taintkeeper.taintkeeper.svc',
  },
  {
    why: 'that is not for the name by which the API server calls, and expired,',
    found: { renews: 'nothing', certificate: expired, uncovered: ['taintkeeper.taintkeeper.svc'] },
    caller: {},
    state: 'failed',
    detail: `not valid after ${end(expired)}; it is not for taintkeeper.taintkeeper.svc`,
  },
  {
    why: 'that leads to no CA beside it',
    found: { renews: 'nothing', ca: undefined, bundle: `${freshCa}` },
    caller: {},
    state: 'failed',
    detail: 'not signed by the CA',
  },
  {
    why: 'that leads to no CA beside it, where the clients are not known,',
    found: { renews: 'nothing', ca: undefined, bundle: `${freshCa}` },
    state: 'ok',
    detail: `expires ${end(fresh)}, renewed by its issuer`,
  },
  {
    why: 'of another issuer, expiring within two weeks,',
    found: { renews: 'nothing', certificate: ending },
    state: 'degraded',
    detail: `expires ${end(ending)}, renewed by its issuer; it expires soon, and was not replaced`,
  },
  {
    why: 'whose CA, our own, ends within a year',
    found: { ca: agingCa },
    state: 'degraded',
    detail: `expires ${end(fresh)}, renewed in time; its CA expires ${end(agingCa)}, and is not replaced by itself`,
  },
  {
    why: 'whose CA, of another issuer, ends within a year',
    found: { renews: 'nothing', ca: agingCa },
    state: 'ok',
    detail: `expires ${end(fresh)}, renewed by its issuer`,
  },
  {
    why: 'whose files are at fault',
    fault: 'ca.key is missing',
    state: 'degraded',
    detail: `expires ${end(fresh)}, renewed in time; ca.key is missing`,
  },
  { why: 'that expired', found: { certificate: expired }, state: 'failed', detail: `not valid after ${end(expired)}` },
  {
    why: 'that is not valid yet',
    found: { certificate: future },
    state: 'failed',
    detail: `not valid before ${begin(future)}; a clock was ahead when it was issued`,
  },
  {
    why: 'whose CA, of another issuer, expired',
    found: { renews: 'nothing', ca: oldCa },
    state: 'failed',
    detail: `the CA is not valid after ${end(oldCa)}`,
  },
  {
    why: 'whose CA is not valid yet',
    found: { renews: 'nothing', ca: futureCa },
    state: 'failed',
    detail: `the CA is not valid before ${begin(futureCa)}; a clock was ahead when it was issued`,
  },
  {
    why: 'whose CA, of the Secret, is not valid yet',
    found: { renews: 'all', ca: futureCa },
    state: 'failed',
    detail: `the CA is not valid before ${begin(futureCa)}; a clock was ahead when it was issued; the leader replaces it after ten minutes`,
  },
  {
    why: 'whose CA, of the Secret, is not valid yet by the clock of the API server',
    found: { renews: 'all', ca: futureCa },
    caller: { clocksAgree: false },
    state: 'failed',
    detail: `the CA is not valid before ${begin(futureCa)}; it is ${NOW.toISOString()} by the API server's clock, and this machine's clock differs`,
  },
  {
    why: 'that expired, with every other concern',
    found: { renews: 'nothing', certificate: expired, uncovered: ['a.test'] },
    fault: 'tls.crt is garbage',
    state: 'failed',
    detail: `not valid after ${end(expired)}; it is not for a.test; tls.crt is garbage`,
  },
])('a certificate $why is $state', ({ found, fault, caller, state, detail }) => {
  const current: ServableCertificates = {
    serving: { cert: '', key: '' },
    certificate: fresh,
    ca: freshCa,
    bundle: undefined,
    renews: 'serving',
    uncovered: [],
    issued: [],
    ...found,
  };
  const keeper: CertificateKeeper = { current: () => current, fault: () => fault, stop: () => {} };

  expect(certificateCheck(keeper, caller && { now: NOW, clocksAgree: true, ...caller })).toEqual({
    name: 'certificate',
    state,
    detail,
  });
});

it.each([
  { audit: false, inForce: '2 in force' },
  { audit: true, inForce: '2 in force, all as Audit' },
])('policies with audit $audit are $inForce, also while a later reading failed', async ({ audit, inForce }) => {
  let text = `${taintPolicyYaml('Deny')}---\n${taintPolicyYaml('Restore')}`;
  const store = await openPolicyStore(async () => [{ name: 'a.yaml', text }], audit);
  expect(policyCheck(store, audit)).toEqual({ name: 'policies', state: 'ok', detail: inForce });

  text = '';
  await store.reload();
  expect(policyCheck(store, audit)).toEqual({
    name: 'policies',
    state: 'degraded',
    detail: `${inForce}, the last good ones: no policy found: nothing would be protected`,
  });
});

it.each([
  { stopping: false, state: 'ok', detail: 'not asked for' },
  { stopping: true, state: 'failed', detail: 'stopping' },
])('while stopping is $stopping, shutdown is $state', ({ stopping, state, detail }) => {
  expect(stoppingCheck(stopping)).toEqual({ name: 'shutdown', state, detail });
});
