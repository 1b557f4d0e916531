import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import type {
  Webhook,
  WebhookConfiguration,
} from '../../../src/cluster/admission-registration/webhook-configurations.ts';
import { certificateState, webhookStates } from '../../../src/page/replica-states.ts';

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
