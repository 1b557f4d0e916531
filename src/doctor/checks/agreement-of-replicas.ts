import { parseCertificates } from '../../certs/bundle.ts';
import { BACKDATE_MS } from '../../certs/issue.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { type Facts, trustedTime } from '../facts/facts.ts';
import { deploymentOf } from '../restart.ts';
import { isTrustedByAll, type Served, servedBy, shortFingerprint, unservedReason } from '../served.ts';

/** A replica serves a new Secret within 45 s if its watch connection is dead, plus 10 s. */
const SPREAD_MS = 60_000;

/**
 * Checks that all replicas serve the certificate of the Secret. While a new certificate spreads, they may differ, which is no problem if
 * every `caBundle` trusts each of them.
 */
export function checkAgreement(facts: Facts): Finding {
  return consequence(agreement(facts), (cause) => `see ${cause}`);
}

function agreement(facts: Facts): Finding {
  const { webhooks, secret, certificateSource, installation, replicas } = facts;
  const served = servedBy(facts);
  const [first] = served;
  if (!first) return finding('skipped', unservedReason(facts));
  const now = trustedTime(facts);
  const storedChain = parseCertificates(secret.ok ? secret.value?.cert : undefined);
  const [stored] = storedChain;
  const shown = (one: Served) => `${one.replica} serves ${shortFingerprint(one.leaf)}`;
  const stray = served.filter(({ leaf }) => leaf.fingerprint256 !== (stored ?? first.leaf).fingerprint256);
  const unit = served.length === 1 ? '1 replica serves' : `${served.length} replicas serve`;
  if (stray.length === 0) {
    const what = stored ? `the certificate of Secret ${certificateSource.secret}` : 'the same certificate';
    return finding('ok', `${unit} ${what}: ${shortFingerprint(first.leaf)}`);
  }
  const evidence = [
    ...(stored ? [`Secret ${certificateSource.secret} holds ${shortFingerprint(stored)}`] : []),
    ...served.map(shown),
  ].join(', ');
  const isNew = [...served.map(({ leaf }) => leaf), ...(stored ? [stored] : [])].some(
    ({ validFromDate }) => now.getTime() - validFromDate.getTime() - BACKDATE_MS < SPREAD_MS,
  );
  const trusted = served.filter(({ chain }) => !webhooks.ok || isTrustedByAll(webhooks.value, chain, now));
  // If none is trusted, the check of the caBundle reports the cause.
  const storedIsTrusted = stored !== undefined && webhooks.ok && isTrustedByAll(webhooks.value, storedChain, now);
  const harmless = trusted.length === served.length || (trusted.length === 0 && !storedIsTrusted);
  const recently = isNew ? ' (one is new, and may take a minute to reach every replica)' : '';
  if (harmless) {
    return finding('note', `${evidence}; the webhooks do not prefer one of them${recently}`);
  }
  const strays = served.filter((one) => !trusted.includes(one)).map(({ replica }) => replica);
  const arePods = strays.every((stray) => replicas.some(({ name, pod }) => pod !== undefined && name === stray));
  const again = arePods
    ? `delete pod --namespace ${installation.namespace} ${strays.join(' ')}`
    : `rollout restart --namespace ${installation.namespace} ${deploymentOf(installation)}`;
  return finding(
    'problem',
    `${evidence}; the API server does not trust ${strays.join(', ')}${recently}`,
    `restart them, so that they serve the same certificate as the others: kubectl ${again}`,
  );
}
