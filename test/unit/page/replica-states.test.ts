import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import type {
  Webhook,
  WebhookConfiguration,
} from '../../../src/cluster/admission-registration/webhook-configurations.ts';
import { type PolicyInForce, type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import {
  certificateState,
  clusterPolicyStates,
  filedPolicyStates,
  webhookStates,
} from '../../../src/page/replica-states.ts';
import type { Policy } from '../../../src/policy/policy.ts';

const object = (
  name: string,
  spec: unknown,
  { status, generation = 1, known }: { status?: unknown; generation?: number; known?: PolicyInForce | undefined } = {},
): PolicyObject =>
  viewPolicy('TaintPolicy', { metadata: { name, uid: name, generation, resourceVersion: '1' }, spec, status }, known);

const KEEP = { mode: 'Deny', taints: [{ key: 'keep' }] };

describe('policies of a cluster', () => {
  it('come with the status that was written last, by name', () => {
    const condition = { type: 'Ready', status: 'True', reason: 'InForce', message: 'yes', observedGeneration: 1 };
    const lastTransitionTime = '2026-11-21T10:00:00Z';
    const status = { matched: 3, violating: 1, violators: ['n1'], conditions: [{ ...condition, lastTransitionTime }] };

    expect(clusterPolicyStates([object('b', KEEP), object('a', KEEP, { status })], false)).toEqual([
      {
        kind: 'TaintPolicy',
        name: 'a',
        mode: 'Deny',
        valid: true,
        problems: [],
        spec: 'mode: Deny\ntaints:\n  - key: keep\n',
        matched: 3,
        violating: 1,
        violators: ['n1'],
        conditions: [
          {
            ...{ type: 'Ready', status: 'True', reason: 'InForce', message: 'yes', since: lastTransitionTime },
            level: 'quiet',
          },
        ],
      },
      expect.objectContaining({ name: 'b', violators: [], conditions: [] }),
    ]);
  });

  it('say what is wrong with one that cannot be used', () => {
    const [state] = clusterPolicyStates([object('idle', { mode: 'Deny', taints: [{ key: 'a b' }] })], false);
    expect(state).toMatchObject({
      valid: false,
      spec: '',
      problems: [expect.stringMatching(/^spec\.taints\[0\]\.key: /)],
    });
    expect(state).not.toHaveProperty('mode');
  });

  it('show of one that cannot be used any more what stays in force', () => {
    const known = object('kept', KEEP).inForce;
    const spoiled = object('kept', { ...KEEP, mode: 'Warn' }, { generation: 2, known });
    expect(clusterPolicyStates([spoiled], false)).toMatchObject([
      {
        mode: 'Deny',
        valid: false,
        generationInForce: 1,
        problems: [expect.stringMatching(/^spec\.mode: /)],
        spec: 'mode: Deny\ntaints:\n  - key: keep\n',
      },
    ]);
  });

  it('are in mode Audit where all are', () => {
    expect(clusterPolicyStates([object('a', KEEP)], true)).toMatchObject([{ mode: 'Audit' }]);
  });
});

describe('policies of files', () => {
  it('say of a TolerationPolicy whether it patches DaemonSets that exist', () => {
    const policies = (['Patch', 'Report', undefined] as const).map(
      (existing, index): Policy => ({
        ...{ kind: 'TolerationPolicy', name: `p${index}` },
        spec: { mode: 'Mutate', daemonSets: { namespaces: ['*'] }, ...(existing ? { existing } : {}) },
      }),
    );
    expect(filedPolicyStates(policies, false).map(({ patchesExisting }) => patchesExisting)).toEqual([
      true,
      undefined,
      undefined,
    ]);
  });
});

describe('webhooks', async () => {
  const [ca, other] = await Promise.all([issueCa(new Date()), issueCa(new Date())]);
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const webhook = (name: string, bundle: string | undefined, more: object = {}): Webhook => ({
    name,
    clientConfig: bundle === undefined ? {} : { caBundle: base64(bundle) },
    failurePolicy: 'Ignore',
    ...more,
  });
  const of = (mutate: Webhook[], validate?: Webhook[]) => ({
    get: (phase: 'mutate' | 'validate'): WebhookConfiguration | undefined => {
      const webhooks = phase === 'mutate' ? mutate : validate;
      return webhooks && { metadata: { name: 'taintkeeper' }, webhooks };
    },
  });

  it('are those of both phases', () => {
    expect(webhookStates(of([webhook('m', ca.cert)], [webhook('v', ca.cert)]), new X509Certificate(ca.cert))).toEqual([
      { name: 'm', trusted: true },
      { name: 'v', trusted: true },
    ]);
  });

  it.each([
    { why: 'the CA that is served', bundle: ca.cert, trusted: true },
    { why: 'that and an earlier one', bundle: other.cert + ca.cert, trusted: true },
    { why: 'another one', bundle: other.cert, trusted: false },
    { why: 'none', bundle: undefined, trusted: false },
  ])('trust what is served if their caBundle has it: $why', ({ bundle, trusted }) => {
    expect(webhookStates(of([webhook('w', bundle)]), new X509Certificate(ca.cert))).toMatchObject([{ trusted }]);
  });

  it('leave open whether they trust a CA that is not known', () => {
    expect(webhookStates(of([webhook('w', ca.cert)]), undefined)[0]).not.toHaveProperty('trusted');
  });

  it('are none before they are registered', () => {
    expect(webhookStates({ get: () => undefined }, new X509Certificate(ca.cert))).toEqual([]);
  });
});

describe('the certificate', () => {
  const DAY_MS = 86_400_000;
  const issued = new Date('2026-03-01T00:00:00Z');
  const stateAfter = async (days: number) => {
    const { cert } = await issueServing(await issueCa(issued), ['taintkeeper.svc'], issued);
    const certificate = new X509Certificate(cert);
    const now = new Date(certificate.validToDate.getTime() - 90 * DAY_MS + days * DAY_MS);
    return certificateState({ current: () => ({ certificate }) as ServableCertificates }, now);
  };

  it.each([
    { days: 0, daysLeft: 90, expiresSoon: false },
    { days: 75.5, daysLeft: 14, expiresSoon: false },
    { days: 76.5, daysLeft: 13, expiresSoon: true },
    { days: 89.5, daysLeft: 0, expiresSoon: true },
    { days: 90.5, daysLeft: -1, expiresSoon: true },
  ])('has $daysLeft days left after $days, by the given clock', async ({ days, ...expected }) => {
    expect(await stateAfter(days)).toMatchObject(expected);
  });
});
