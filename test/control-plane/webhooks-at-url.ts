import { desiredWebhooks } from '../../src/controllers/webhooks/desired-webhooks.ts';
import type { Phase } from '../../src/judge/decision.ts';
import type { WebhookEntry } from '../../src/webhooks/webhook-entry.ts';

const SERVICE = { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 };
const TIMEOUT_SECONDS = 5;

/**
 * The webhooks of one phase as the leader registers them, but called at a URL, to which the phase is added.
 * @param caBundle base64
 */
export function webhooksAtUrl(entries: readonly WebhookEntry[], phase: Phase, url: string, caBundle: string) {
  const options = { service: SERVICE, bundle: undefined, timeoutSeconds: TIMEOUT_SECONDS };
  return desiredWebhooks(entries, phase, options).map((webhook) => ({
    ...webhook,
    clientConfig: { url: `${url}/${phase}`, caBundle },
  }));
}
