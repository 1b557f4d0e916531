import type {
  ConfigurationPhase,
  Webhook,
  WebhookConfiguration,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import { PHASES } from '../../judge/decision.ts';
import { hasFields } from '../../kubernetes/desired-fields.ts';

/** The webhooks that policies need in one phase. */
export interface NeededWebhooks {
  /** The versions of these policies. */
  readonly versions: ReadonlySet<string>;
  readonly webhooks: readonly Webhook[];
}

/** For which versions of policies the API server calls the webhooks, by the stored configurations. */
export interface RegisteredVersions {
  /**
   * The configuration was read or written. Webhooks of earlier versions count until the configuration lacks one of them.
   * @returns whether it has the needed ones
   */
  observe(phase: ConfigurationPhase, stored: WebhookConfiguration | undefined, needed: NeededWebhooks): boolean;
  /** Whether both configurations have the webhooks that the version needs. */
  has(version: string): boolean;
}

export function registeredVersions(): RegisteredVersions {
  const found: Record<ConfigurationPhase, NeededWebhooks> = { mutate: NONE, validate: NONE };
  return {
    observe(phase, stored, needed) {
      const isRegistered = hasWebhooks(stored, needed.webhooks);
      if (isRegistered) found[phase] = needed;
      else if (!hasWebhooks(stored, found[phase].webhooks)) found[phase] = NONE;
      return isRegistered;
    },
    has: (version) => PHASES.every((phase) => found[phase].versions.has(version)),
  };
}

/** Whether the API server calls these webhooks as desired. Labels, owners and other webhooks of the configuration do not change that. */
function hasWebhooks(stored: WebhookConfiguration | undefined, desired: readonly Webhook[]): boolean {
  return desired.every((webhook) => stored?.webhooks?.some((one) => hasFields(one, webhook)));
}

const NONE: NeededWebhooks = { versions: new Set(), webhooks: [] };
