import type { CheckResult } from './check.ts';
import type { Facts } from './facts.ts';

const AREA = { area: 'configuration', name: 'registration' } as const;

/**
 * Whether webhooks are registered where policies need them.
 * @param earlier what all other checks came to: most causes that keep the leader from it are theirs to tell
 */
export function checkRegistration(
  { webhooks, admission, site }: Facts,
  earlier: readonly CheckResult[],
): CheckResult[] {
  if (!webhooks.ok) return [{ ...AREA, state: 'skipped', evidence: webhooks.why }];
  const names = webhooks.value.map(({ name }) => name.replace(/\.taintkeeper\.dev$/, ''));
  if (names.length > 0) return [{ ...AREA, state: 'ok', evidence: `registered: ${names.join(', ')}` }];
  const isNeeded = admission.ok && admission.value.outcome !== 'nothing to try';
  if (!isNeeded) return [{ ...AREA, state: 'ok', evidence: 'no webhook is registered, and none seems to be needed' }];
  const evidence = 'no webhook is registered, though policies need one';
  const cause = earlier.find(({ state }) => state === 'trouble');
  if (cause) return [{ ...AREA, state: 'skipped', evidence: `${evidence}: see ${cause.name}` }];
  return [
    {
      ...AREA,
      state: 'trouble',
      evidence,
      remedy: `the leader registers them as soon as the Service leads to it; its log says what is in the way: kubectl logs --namespace ${site.namespace} deployment/${site.service}`,
    },
  ];
}
