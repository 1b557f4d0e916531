import type { X509Certificate } from 'node:crypto';
import { invalidAt, parseCertificates } from '../../certs/inspect.ts';
import { CONFIGURATION_NAME, caBundlesOf, type Webhook } from '../../cluster/webhook-configurations.ts';
import { alike } from '../alike.ts';
import type { CheckResult } from '../check.ts';
import { type Facts, trustedTime } from '../facts.ts';
import { type Served, servedBy, unservedReason } from './served.ts';

const AREA = { area: 'certificate', name: 'caBundle' } as const;

/**
 * Whether the `caBundle` of every webhook vouches for what the replicas serve.
 * @param serving that could not be judged where clocks are to blame
 */
export function checkTrust(facts: Facts, serving: CheckResult, agreement: CheckResult): CheckResult {
  const { webhooks } = facts;
  if (!webhooks.ok) return { ...AREA, state: 'skipped', evidence: webhooks.why, essential: true };
  if (webhooks.value.length === 0) {
    return {
      ...AREA,
      state: 'skipped',
      evidence: 'no webhook is registered: no policy needs one, or no leader has registered it yet',
    };
  }
  const served = servedBy(facts);
  if (served.length === 0) return { ...AREA, state: 'skipped', evidence: unservedReason(facts) };
  if (serving.state === 'skipped') return { ...AREA, state: 'skipped', evidence: serving.evidence };
  if (agreement.state === 'trouble') {
    return {
      ...AREA,
      state: 'skipped',
      evidence: `which certificate is to be trusted is the question: see ${agreement.name}`,
    };
  }
  const distrusting = webhooks.value.filter((webhook) =>
    served.some(({ chain }) => !vouchesFor(bundleOf(webhook), chain, trustedTime(facts))),
  );
  if (distrusting.length === 0) {
    return { ...AREA, state: 'ok', evidence: `all ${webhooks.value.length} webhooks trust what is served` };
  }
  return {
    ...AREA,
    state: 'trouble',
    evidence: alike(
      distrusting,
      (webhook) => fault(webhook, served, trustedTime(facts)),
      (group) => `${said(group, webhooks.value.length)}: ${fault(group[0], served, trustedTime(facts))}`,
    ),
    remedy: `the leader puts it right within a minute; if it does not, kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME} (it registers them anew), and see its log`,
  };
}

function said(group: readonly Webhook[], all: number): string {
  return group.length === all && all > 1 ? `all ${all} webhooks` : group.map(({ name }) => name).join(', ');
}

function fault(webhook: Webhook, served: readonly Served[], now: Date): string {
  const bundle = bundleOf(webhook);
  if (bundle.length === 0) return 'there is no caBundle that can be read';
  const expired = bundle.find((ca) => invalidAt(ca, now) !== undefined);
  const issuers = [...new Set(served.map(({ leaf }) => subject(leaf.issuer)))];
  const trusted = bundle.map((ca) => subject(ca.subject)).join(', ');
  const reason = expired ? ` (which is ${invalidAt(expired, now)})` : '';
  return `the caBundle trusts ${trusted}${reason}, and the certificate is of ${issuers.join(', ')}`;
}

function subject(name: string): string {
  return name.replace(/^CN=/, '').replaceAll('\n', ', ');
}

function bundleOf(webhook: Webhook): X509Certificate[] {
  return caBundlesOf({ metadata: { name: '' }, webhooks: [webhook] }).flatMap(parseCertificates);
}

/** Whether the chain leads to one of the CAs; names and the leaf's own time are not asked for here. */
export function vouchesFor(cas: readonly X509Certificate[], chain: readonly X509Certificate[], now: Date): boolean {
  const valid = cas.filter((ca) => invalidAt(ca, now) === undefined);
  const [leaf, ...others] = chain;
  let current = leaf;
  for (let hops = 0; current !== undefined && hops <= others.length; hops++) {
    const certificate = current;
    if (valid.some((ca) => ca.fingerprint256 === certificate.fingerprint256 || certificate.verify(ca.publicKey)))
      return true;
    current = others.find((other) => certificate.checkIssued(other) && certificate.verify(other.publicKey));
  }
  return false;
}

/** Whether every webhook that is registered vouches for the chain. */
export function isTrustedByAll(webhooks: readonly Webhook[], chain: readonly X509Certificate[], now: Date): boolean {
  return webhooks.every((webhook) => vouchesFor(bundleOf(webhook), chain, now));
}
