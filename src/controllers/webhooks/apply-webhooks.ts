import type { ConfigurationPhase } from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { PHASES } from '../../judge/decision.ts';
import { enforcing, type PolicyNeeds, phaseWebhooks } from './phase-webhooks.ts';
import type { RegisteredVersions } from './registered-versions.ts';
import type { StoredConfigurations } from './stored-configurations.ts';
import type { WebhookWriter } from './webhook-writer.ts';

/** The configurations are watched. This repairs changes that the watch misses. */
const CHECK_AGAIN_MS = 60_000;

export interface WebhookRunContext {
  readonly service: ServiceRef;
  readonly timeoutSeconds: number;
  /** Computes the CAs to register, PEM. Undefined: those of the system. */
  readonly mergeBundle: () => string | undefined;
  readonly stored: StoredConfigurations;
  readonly registered: Pick<RegisteredVersions, 'observe'>;
  readonly writer: WebhookWriter;
}

/** The result of a run. */
export interface WebhookRun {
  /** In how many milliseconds to run again. */
  readonly againInMs: number;
  /** Why the API server may not call all webhooks. Undefined if it calls them. */
  readonly problem: string | undefined;
  /** The first error. */
  readonly fault: Error | undefined;
}

/**
 * Registers the webhooks that policies need, restores what other writers changed, and removes webhooks that no policy needs. A fault of one
 * configuration does not prevent the write of the other. Throws nothing.
 */
export async function applyWebhooks(needed: PolicyNeeds, context: WebhookRunContext): Promise<WebhookRun> {
  const { service, timeoutSeconds, mergeBundle, stored, registered, writer } = context;
  const faults: Error[] = [];
  const differences: string[] = [];
  const waits: number[] = [];

  if (await succeeds(stored.read)) {
    // Each time: a new installation creates another ClusterRole of that name.
    await succeeds(writer.readOwner);
    for (const phase of phasesInOrder(stored)) await succeeds(() => apply(phase));
  }
  const [fault] = faults;
  return { againInMs: Math.min(CHECK_AGAIN_MS, ...waits), problem: fault?.message ?? differences[0], fault };

  async function succeeds(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      faults.push(error as Error);
      return false;
    }
  }

  async function apply(phase: ConfigurationPhase): Promise<void> {
    const bundle = mergeBundle();
    const webhooks = phaseWebhooks(phase, needed, stored.get(phase), { service, bundle, timeoutSeconds });
    try {
      const waitMs = await writer.write(phase, webhooks, bundle);
      if (waitMs !== undefined) waits.push(waitMs);
    } finally {
      const { versions } = needed;
      const isRegistered = registered.observe(phase, stored.get(phase), { versions, webhooks: enforcing(webhooks) });
      if (!isRegistered) differences.push(writer.differs(phase));
    }
  }
}

/**
 * Existing configurations come first: while their caBundle is wrong, no replica may be ready. Then mutation comes before validation, because validation
 * denies what a missing mutation has not restored.
 */
function phasesInOrder(stored: StoredConfigurations): ConfigurationPhase[] {
  const isStored = (phase: ConfigurationPhase) => stored.get(phase) !== undefined;
  return [...PHASES.filter(isStored), ...PHASES.filter((phase) => !isStored(phase))];
}
