import { X509Certificate } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { trackCaTrust } from '../../../src/certs/ca-trust.ts';
import type { CertificateKeeper } from '../../../src/certs/certificate-keeper.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import type { ClusterPolicies } from '../../../src/cluster/policies/policies.ts';
import { type PolicyInForce, type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import { clusterPoliciesCheck, trustCheck } from '../../../src/replica/readiness.ts';

const ca = await issueCa(new Date());
const other = await issueCa(new Date());
const serving = await issueServing(ca, ['localhost'], new Date());
const keeper = {
  current: () => ({ serving, certificate: new X509Certificate(serving.cert), ca: new X509Certificate(ca.cert) }),
} as unknown as CertificateKeeper;
const withoutCa = {
  current: () => ({ ...keeper.current(), ca: undefined }),
} as CertificateKeeper;

function check(certificates = keeper) {
  let state = { synced: false, bundles: [] as string[] };
  const trust = trackCaTrust();
  const trusted = trustCheck({ isSynced: () => state.synced, caBundles: () => state.bundles, trust }, () => new Date());
  return (synced: boolean, ...bundles: string[]) => {
    state = { synced, bundles };
    if (synced) trust.observe(bundles);
    return trusted(certificates);
  };
}

describe('the webhooks check', () => {
  it('fails until the configurations have been read', () => {
    expect(check()(false)).toMatchObject({
      state: 'failed',
      detail: 'the webhook configurations have not been read yet',
    });
  });

  it('is ok if no webhook is registered: no API server has to trust the replica', () => {
    expect(check()(true)).toMatchObject({ state: 'ok', detail: 'none registered' });
  });

  it('is well when every bundle has the CA, among others', () => {
    expect(check()(true, ca.cert, `${other.cert}${ca.cert}`)).toMatchObject({ state: 'ok', detail: '2 registered' });
  });

  it('fails for a replica whose CA is missing in the caBundle of some webhooks', () => {
    expect(check()(true, ca.cert, other.cert, '')).toMatchObject({
      state: 'failed',
      detail: 'the caBundle of 2 of 3 webhooks lacks the CA that is served',
    });
  });

  it('fails for a moment longer once it is trusted: API servers have to learn of it', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const see = check();
    see(true, other.cert);
    expect(see(true, ca.cert)).toMatchObject({
      state: 'failed',
      detail: 'the API server does not trust the new CA yet',
    });
    vi.advanceTimersByTime(2_000);
    expect(see(true, ca.cert)).toMatchObject({ state: 'ok' });
  });

  it('is only degraded after it was ok: a failure would take every replica out of service', () => {
    const see = check();
    see(true, ca.cert);
    expect(see(true, '')).toMatchObject({ state: 'degraded' });
    expect(see(true, ca.cert)).toMatchObject({ state: 'ok' });
  });
});

describe('the webhooks check of a certificate without ca.crt', () => {
  const NOT_TRUSTED = 'do not trust the served certificate, and ca.crt does not have its CA: add it';

  it.each<{ why: string; bundles: string[]; state: string; detail: string }>([
    {
      why: 'every bundle has its CA',
      bundles: [ca.cert, `${other.cert}${ca.cert}`],
      state: 'ok',
      detail: '2 registered',
    },
    {
      why: 'a bundle has another CA alone',
      bundles: [ca.cert, other.cert],
      state: 'failed',
      detail: `the caBundles of 1 of 2 webhooks ${NOT_TRUSTED}`,
    },
    {
      why: 'every bundle has another CA alone',
      bundles: [other.cert, other.cert],
      state: 'failed',
      detail: `the caBundles of 2 of 2 webhooks ${NOT_TRUSTED}`,
    },
    {
      why: "no bundle has a CA: those of the API server's system decide",
      bundles: ['', ''],
      state: 'ok',
      detail: '2 registered',
    },
    { why: 'no webhook is registered', bundles: [], state: 'ok', detail: 'none registered' },
  ])('is $state if $why', ({ bundles, state, detail }) => {
    expect(check(withoutCa)(true, ...bundles)).toEqual({ name: 'webhooks', state, detail });
  });

  it('is only degraded after it was ok', () => {
    const see = check(withoutCa);
    see(true, ca.cert);
    expect(see(true, other.cert)).toMatchObject({ state: 'degraded', detail: expect.stringContaining(NOT_TRUSTED) });
  });
});

describe('the policies check', () => {
  const object = (name: string, spec: object, generation = 1, known?: PolicyInForce): PolicyObject =>
    viewPolicy('TaintPolicy', { metadata: { name, uid: name, generation, resourceVersion: '1' }, spec }, known);
  const good = object('good', { mode: 'Deny', taints: [{ key: 'a' }] });
  const bad = object('bad', { mode: 'Deny', taints: [{ key: 'readiness.k8s.io/*' }] });
  const usable = object('spoiled', { mode: 'Deny', taints: [{ key: 'a' }] }, 2);
  const spoiled = object('spoiled', { mode: 'Deny', taints: [] }, 3, usable.inForce);
  const policies = (synced: boolean, ...objects: PolicyObject[]) =>
    ({
      isSynced: () => synced,
      staleSince: () => undefined,
      kindsWithoutDefinition: () => [],
      unread: () => [],
      objects: () => objects,
      snapshot: () => ({ policies: objects.flatMap(({ inForce }) => inForce?.policy ?? []) }),
    }) as unknown as ClusterPolicies;

  it.each([
    { why: 'not read yet', given: policies(false), audit: false, state: 'failed', detail: 'not read yet' },
    { why: 'none at all', given: policies(true), audit: false, state: 'ok', detail: '0 in force' },
    { why: 'good ones', given: policies(true, good), audit: true, state: 'ok', detail: '1 in force, all as Audit' },
    {
      why: 'a broken one among them',
      given: policies(true, good, bad),
      audit: false,
      state: 'degraded',
      detail: '1 in force; not usable: TaintPolicy bad',
    },
    {
      why: 'one that was usable before',
      given: policies(true, good, spoiled),
      audit: false,
      state: 'degraded',
      detail: '2 in force; not usable: TaintPolicy spoiled (generation 2 stays in force)',
    },
  ])('with $why is $state', ({ given, audit, state, detail }) => {
    expect(clusterPoliciesCheck(given, audit)).toEqual({ name: 'policies', state, detail });
  });
});
