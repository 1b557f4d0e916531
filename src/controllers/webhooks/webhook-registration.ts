import { fingerprints } from '../../certs/inspect.ts';
import { readSecret } from '../../cluster/certificate-secret.ts';
import { versionInForce } from '../../cluster/policies.ts';
import type { Controller, LeaderContext } from '../context.ts';
import { POLICIES_SETTLE_MS, startController } from '../context.ts';
import { carriedCas } from './carried-cas.ts';
import { followPolicies } from './desired-webhooks.ts';
import { webhookWriter } from './webhook-writer.ts';

/** Keeps the webhook configurations as the policies need them, with the CAs that replicas serve. */
export function startWebhookRegistration(context: LeaderContext): Controller {
  const { client, policies, webhooks, certificates, secret, reports, audit, signal, log } = context;
  const carried = carriedCas({ registered: webhooks.caBundles, overlapMs: context.caOverlapMs, now: client.now });
  const entries = followPolicies(policies.snapshot, audit, log);
  const writer = webhookWriter({
    ...context,
    pod: context.identity,
    entries: entries.current,
    bundle: () => (secret ? certificates.current().bundle : carried.bundle(certificates.current().bundle)),
    confirmBundle: secret ? (present, next) => confirmBundle(client, secret, present, next) : async () => {},
    actual: webhooks.get,
    isComplete: () => policies.objects().every(({ inForce }) => inForce !== undefined),
  });
  /** Which versions of policies the registered webhooks are for. */
  let registered: ReadonlySet<string> = new Set();
  const attempted = Promise.withResolvers<void>();

  const changed = reports.add({
    ready: attempted.promise,
    standing(policy) {
      // Where writing fails, the webhooks that are there stay in force.
      if (registered.has(versionInForce(policy) ?? '')) return 'registered';
      const fault = writer.complaint();
      return fault === undefined ? 'pending' : { fault };
    },
    unverified: writer.unverified,
  });
  const reconciler = startController(context, 'webhook-registration', reconcile, {
    onEnd() {
      attempted.resolve();
      changed();
    },
  });
  policies.changes.subscribe(() => reconciler.trigger(Math.max(POLICIES_SETTLE_MS, entries.dueInMs())), signal);
  for (const { changes } of [webhooks, certificates]) changes.subscribe(() => reconciler.trigger(), signal);
  return reconciler;

  async function reconcile(): Promise<number> {
    try {
      const againInMs = await writer.reconcile();
      registered = entries.from().versions;
      const dueInMs = Math.min(againInMs, carried.dueInMs());
      return entries.from() === policies.snapshot() ? dueInMs : Math.min(dueInMs, entries.dueInMs());
    } catch (error) {
      if (!webhooks.get('mutate') && !webhooks.get('validate')) registered = new Set();
      throw error;
    }
  }
}

/**
 * A leader that has not heard of the Secret for a while may know less than the one before: a CA leaves a `caBundle` only on the
 * word of the Secret as it is now.
 */
async function confirmBundle(
  client: LeaderContext['client'],
  { keeper, ref }: NonNullable<LeaderContext['secret']>,
  present: readonly string[],
  next: string | undefined,
): Promise<void> {
  const staying = new Set(fingerprints(next ?? ''));
  if (present.flatMap(fingerprints).every((one) => staying.has(one))) return;
  const { resourceVersion } = await readSecret(client, ref);
  if (resourceVersion !== keeper.stored().resourceVersion) {
    throw new Error(
      `Secret ${ref.namespace}/${ref.name} is newer than what is known of it: no CA is taken out of a caBundle`,
    );
  }
}
