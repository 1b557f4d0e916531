import {
  type ConfigurationPhase,
  caBundleFields,
  type Webhook,
  type WebhookConfiguration,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import { isSameService } from '../../cluster/installation/service-ref.ts';
import type { WebhookEntry } from '../../webhooks/webhook-entry.ts';
import { type DesiredOptions, desiredWebhooks, WARNING_WEBHOOK, warningWebhook } from './desired-webhooks.ts';

/** What the installed policies need. */
export interface PolicyNeeds {
  readonly entries: readonly WebhookEntry[];
  /** Whether all policies could be read. Otherwise no registered webhook is removed. */
  readonly isComplete: boolean;
  /** The versions of the installed policies. */
  readonly versions: ReadonlySet<string>;
}

/**
 * The webhooks of a phase that the policies need. If not all policies could be read, the other stored webhooks that call our Service stay, with
 * the present CAs.
 */
export function phaseWebhooks(
  phase: ConfigurationPhase,
  { entries, isComplete }: PolicyNeeds,
  stored: WebhookConfiguration | undefined,
  options: DesiredOptions,
): Webhook[] {
  const webhooks = [
    ...desiredWebhooks(entries, phase, options),
    ...(phase === 'validate' && entries.length > 0 ? [warningWebhook(options)] : []),
  ];
  if (isComplete) return webhooks;
  const known = new Set(webhooks.map(({ name }) => name));
  const others = (stored?.webhooks ?? []).filter(
    ({ name, clientConfig }) =>
      !known.has(name) && clientConfig.service && isSameService(clientConfig.service, options.service),
  );
  return [
    ...webhooks,
    ...others.map((one) => ({ ...one, clientConfig: { ...one.clientConfig, ...caBundleFields(options.bundle) } })),
  ];
}

/** The webhooks without the one that only warns: policies are enforced without it. */
export function enforcing(webhooks: readonly Webhook[]): Webhook[] {
  return webhooks.filter(({ name }) => name !== WARNING_WEBHOOK);
}
