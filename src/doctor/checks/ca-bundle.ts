import { parseCertificates } from '../../certs/bundle.ts';
import { issuersInvalidAt, isTrusted } from '../../certs/chain.ts';
import { issuerOf, subjectOf } from '../../certs/distinguished-name.ts';
import {
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  caBundleOf,
  type Webhook,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import { type CheckName, consequence, essentialSkip, type Finding, finding } from '../check.ts';
import { describeGroups } from '../describe-groups.ts';
import { type Facts, trustedTime } from '../facts/facts.ts';
import { hasLeader } from '../facts/watch-lease.ts';
import { leaderLog } from '../leader-log.ts';
import { renewal } from '../renewal.ts';
import { bundleOf, type Served, servedBy, unservedReason } from '../served.ts';

/** Checks that the `caBundle` of every webhook trusts the certificates that the replicas serve. */
export function checkCaBundle(facts: Facts): Finding {
  const { webhooks, certificateSource } = facts;
  if (!webhooks.ok) return essentialSkip(webhooks.why);
  if (webhooks.value.length === 0) {
    return finding('skipped', 'no webhook is registered: no policy needs one, or no leader has registered it yet');
  }
  const served = servedBy(facts);
  if (served.length === 0) return finding('skipped', unservedReason(facts));
  // Certificates of another issuer may come without a CA. The API server then trusts the CAs of its own system, which are not known here.
  const judged = webhooks.value.filter((webhook) => certificateSource.kind === 'secret' || caBundleOf(webhook) !== '');
  if (judged.length === 0) {
    return finding('note', "no webhook has a caBundle: the CAs of the API server's own system decide, see round trip");
  }
  const distrustingAt = (now: Date) =>
    judged.filter((webhook) => served.some(({ chain }) => !isTrusted(chain, bundleOf(webhook), now)));
  const distrusting = distrustingAt(trustedTime(facts));
  if (distrusting.length === 0) {
    return finding('ok', `all ${webhooks.value.length} webhooks trust the served certificates`);
  }
  const evidence = describeGroups(
    distrusting,
    (webhook) => fault(webhook, served, trustedTime(facts)),
    (group) => `${said(group, webhooks.value.length)}: ${fault(group[0], served, trustedTime(facts))}`,
  );
  const isFuture = distrusting.some((webhook) =>
    bundleOf(webhook).some(({ validFromDate }) => facts.now < validFromDate),
  );
  return consequence(
    finding('problem', evidence, repair(facts, distrusting, served)),
    (cause) => `${WHY_DISTRUSTED.get(cause) ?? evidence}: see ${cause}`,
    [
      ...(isFuture ? (['Secret'] as const) : []),
      ...(distrustingAt(facts.now).length > 0 ? [] : (['clocks'] as const)),
      'agreement of replicas',
    ],
  );
}

/** By the check that reports the cause: one of those above, or the cause of its result. */
const WHY_DISTRUSTED: ReadonlyMap<string, string> = new Map<CheckName, string>([
  ['Secret', 'the CA is not valid yet'],
  ['clocks', "trusted by this machine's clock, and not by the API server's"],
  ['serving certificate', 'the served certificate is not valid'],
  ['agreement of replicas', 'the replicas serve different certificates'],
]);

const WEBHOOK_RESOURCES: readonly string[] = Object.values(CONFIGURATIONS).map(({ resource }) => resource);

/** Without a leader that may write them, webhooks that are deleted are not registered again. */
function repair(facts: Facts, distrusting: readonly Webhook[], served: readonly Served[]): string {
  const { lease, rights, secret } = facts;
  const now = trustedTime(facts);
  const stored = parseCertificates(secret.ok ? secret.value?.bundle : undefined);
  // The leader writes the stored CAs into each caBundle. That is enough only if they make the certificates trusted.
  const isEnough = served.every(({ chain }) => isTrusted(chain, stored, now));
  if (!isEnough && distrusting.some((webhook) => issuerFault(webhook, served, now))) return renewal(facts);
  if (lease.ok && !hasLeader(lease.value)) return 'the leader repairs it, and no replica leads: see leader';
  if (rights.ok && rights.value.missingNeeded.some(({ resource }) => WEBHOOK_RESOURCES.includes(resource))) {
    return 'the leader repairs it, and it lacks a right: see rights';
  }
  return `the leader repairs it within a minute. If it does not, read its log, and then have it register the webhooks anew: ${leaderLog(facts)}; kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME}`;
}

function said(group: readonly Webhook[], all: number): string {
  return group.length === all && all > 1 ? `all ${all} webhooks` : group.map(({ name }) => name).join(', ');
}

function fault(webhook: Webhook, served: readonly Served[], now: Date): string {
  const bundle = bundleOf(webhook);
  if (bundle.length === 0) return 'no readable caBundle';
  const invalid = issuerFault(webhook, served, now);
  if (invalid !== undefined) return `the caBundle does not trust the served certificate: ${invalid}`;
  const issuers = [...new Set(served.map(({ leaf }) => issuerOf(leaf)))];
  return `the caBundle trusts ${bundle.map(subjectOf).join(', ')}, and the certificate was issued by ${issuers.join(', ')}`;
}

/** Why the webhook does not trust certificates that lead to a CA of its `caBundle`. */
function issuerFault(webhook: Webhook, served: readonly Served[], now: Date): string | undefined {
  const bundle = bundleOf(webhook);
  return served.map(({ chain }) => issuersInvalidAt(chain, bundle, now)).find((reason) => reason !== undefined);
}
