import { shortName } from '../../cluster/installation/own-names.ts';
import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import { webhookEntries } from '../../webhooks/webhook-entries.ts';
import { consequence, type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import { leaderLog } from '../leader-log.ts';

/** Checks that webhooks are registered if policies need them. Other checks report most causes. */
export function checkRegistration({
  webhooks,
  policies,
  installation,
  lease,
}: Pick<Facts, 'webhooks' | 'policies' | 'installation' | 'lease'>): Finding {
  if (!webhooks.ok) return finding('skipped', webhooks.why);
  const names = webhooks.value.map(({ name }) => shortName(name));
  if (names.length > 0) return finding('ok', `registered: ${names.join(', ')}`);
  if (!policies.ok)
    return consequence(finding('skipped', `no webhook is registered; whether policies need one: ${policies.why}`));
  const needed = webhookEntries(policiesInForce(policies.value), installation);
  if (needed.length === 0) return finding('ok', 'no webhook is registered, and no policy needs one');
  const remedy = `the leader registers them as soon as it is reached through the Service; its log says what prevents that: ${leaderLog({ lease, installation })}`;
  return consequence(finding('problem', 'no webhook is registered, though policies need one', remedy));
}
