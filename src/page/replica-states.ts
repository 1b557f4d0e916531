import type { X509Certificate } from 'node:crypto';
import { hasCa } from '../certs/bundle.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { EXPIRES_SOON_MS } from '../certs/stored-faults.ts';
import type { RegisteredWebhooks } from '../cluster/admission-registration/registered-webhooks.ts';
import {
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundleOf,
} from '../cluster/admission-registration/webhook-configurations.ts';
import type { CertificateState, WebhookState } from './state.ts';

/**
 * The registered webhooks.
 * @param ca the CA of the served certificate, if it is known
 */
export function webhookStates(
  webhooks: Pick<RegisteredWebhooks, 'get'>,
  ca: X509Certificate | undefined,
): WebhookState[] {
  return (Object.keys(CONFIGURATIONS) as ConfigurationPhase[]).flatMap((phase) =>
    (webhooks.get(phase)?.webhooks ?? []).map((webhook) => ({
      name: webhook.name,
      ...(ca ? { trusted: hasCa(caBundleOf(webhook), ca) } : {}),
    })),
  );
}

const DAY_MS = 86_400_000;

/**
 * The served certificate.
 * @param now by the clock of its clients, as for the check of it (decision 23)
 */
export function certificateState(certificates: Pick<CertificateKeeper, 'current'>, now: Date): CertificateState {
  const { validToDate } = certificates.current().certificate;
  const leftMs = validToDate.getTime() - now.getTime();
  return {
    notAfter: validToDate.toISOString(),
    daysLeft: Math.floor(leftMs / DAY_MS),
    expiresSoon: leftMs < EXPIRES_SOON_MS,
  };
}
