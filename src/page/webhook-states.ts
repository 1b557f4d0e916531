import type { X509Certificate } from 'node:crypto';
import { fingerprints } from '../certs/inspect.ts';
import {
  CONFIGURATIONS,
  type ConfigurationPhase,
  type RegisteredWebhooks,
  type Webhook,
} from '../cluster/webhook-configurations.ts';
import type { LabelSelector } from '../policy/label-selector.ts';
import { formatRequirement, requirementsOf } from '../policy/selector-overlap.ts';
import type { WebhookState } from './state.ts';

/** The fields of a webhook (admissionregistration.k8s.io/v1) that are shown, as somebody may have written them. */
interface ShownFields {
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly rules?: readonly { readonly operations?: readonly string[]; readonly resources?: readonly string[] }[];
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly { readonly name: string }[];
}

/**
 * The registered webhooks.
 * @param ca of what is served, if it is known
 */
export function webhookStates(
  webhooks: Pick<RegisteredWebhooks, 'get'>,
  ca: X509Certificate | undefined,
): WebhookState[] {
  return (Object.keys(CONFIGURATIONS) as ConfigurationPhase[]).flatMap((phase) =>
    (webhooks.get(phase)?.webhooks ?? []).map((webhook) => stateOf(phase, webhook, ca)),
  );
}

function stateOf(phase: ConfigurationPhase, webhook: Webhook, ca: X509Certificate | undefined): WebhookState {
  // An API server fills in the default of failurePolicy; who else would leave it out?
  const { failurePolicy = 'Fail', timeoutSeconds, rules, objectSelector, matchConditions } = webhook as ShownFields;
  const bundle = Buffer.from(webhook.clientConfig.caBundle ?? '', 'base64').toString();
  return {
    name: webhook.name,
    configuration: CONFIGURATIONS[phase].kind,
    failurePolicy,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(ca ? { trusted: fingerprints(bundle).includes(ca.fingerprint256) } : {}),
    rules: (rules ?? []).map(
      ({ operations = [], resources = [] }) => `${operations.join(', ')} ${resources.join(', ')}`,
    ),
    conditions: [
      ...requirementsOf(objectSelector).map((requirement) => `label ${formatRequirement(requirement)}`),
      ...(matchConditions ?? []).map(({ name }) => name),
    ],
  };
}
