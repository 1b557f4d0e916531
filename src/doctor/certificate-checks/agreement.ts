import { parseCertificates } from '../../certs/inspect.ts';
import { BACKDATE_MS } from '../../certs/issue.ts';
import type { CheckResult } from '../check.ts';
import { type Facts, trustedTime } from '../facts.ts';
import { type Served, servedBy, shortFingerprint, unservedReason } from './served.ts';
import { isTrustedByAll } from './trust.ts';

/** A replica serves what is in the Secret within 45 s, also over a dead connection, and 10 s later at most. */
const SETTLES_MS = 60_000;

const AREA = { area: 'certificate', name: 'agreement of replicas' } as const;

/**
 * Whether all replicas serve the same, which is what the Secret holds. While a new one gets about they may differ, and where
 * every `caBundle` vouches for each, nobody minds.
 */
export function checkAgreement(facts: Facts, serving: CheckResult): CheckResult {
  const { webhooks, secret, source, site, replicas } = facts;
  const served = servedBy(facts);
  const [first] = served;
  if (!first) return { ...AREA, state: 'skipped', evidence: unservedReason(facts) };
  if (serving.state === 'trouble') return { ...AREA, state: 'skipped', evidence: `see ${serving.name}` };
  const now = trustedTime(facts);
  const [stored] = parseCertificates((secret.ok ? secret.value?.cert : undefined) ?? '');
  const shown = (one: Served) => `${one.replica} serves ${shortFingerprint(one.leaf)}`;
  const stray = served.filter(({ leaf }) => leaf.fingerprint256 !== (stored ?? first.leaf).fingerprint256);
  const unit = served.length === 1 ? '1 replica serves' : `${served.length} replicas serve`;
  if (stray.length === 0) {
    const what = stored ? `what Secret ${source.secret} holds` : 'the same certificate';
    return { ...AREA, state: 'ok', evidence: `${unit} ${what}: ${shortFingerprint(first.leaf)}` };
  }
  const evidence = [
    ...(stored ? [`Secret ${source.secret} holds ${shortFingerprint(stored)}`] : []),
    ...served.map(shown),
  ].join(', ');
  const isNew = [...served.map(({ leaf }) => leaf), ...(stored ? [stored] : [])].some(
    ({ validFromDate }) => now.getTime() - validFromDate.getTime() - BACKDATE_MS < SETTLES_MS,
  );
  const trusted = served.filter(({ chain }) => !webhooks.ok || isTrustedByAll(webhooks.value, chain, now));
  // That none is trusted has another cause, of which the check of the caBundle tells.
  const storedIsTrusted = stored !== undefined && webhooks.ok && isTrustedByAll(webhooks.value, [stored], now);
  const harmless = trusted.length === served.length || (trusted.length === 0 && !storedIsTrusted);
  const recently = isNew ? ' (one is new, and may take a minute to get about)' : '';
  if (harmless) {
    return { ...AREA, state: 'note', evidence: `${evidence}; nobody trusts one more than another${recently}` };
  }
  const strays = served.filter((one) => !trusted.includes(one)).map(({ replica }) => replica);
  const arePods = strays.every((stray) => replicas.some(({ name, pod }) => pod !== undefined && name === stray));
  const again = arePods
    ? `delete pod --namespace ${site.namespace} ${strays.join(' ')}`
    : `rollout restart --namespace ${site.namespace} deployment/${site.service}`;
  return {
    ...AREA,
    state: 'trouble',
    evidence: `${evidence}; the API server does not trust ${strays.join(', ')}${recently}`,
    remedy: `start them anew, so that they read what the others serve: kubectl ${again}`,
  };
}
