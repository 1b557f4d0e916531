import type { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { hasCa, joinBundles, parseCertificates } from '../certs/bundle.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { servableFault } from '../certs/servable-certificates.ts';
import type { RegisteredWebhooks } from '../cluster/admission-registration/registered-webhooks.ts';
import {
  CA_ADDED,
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundleFields,
  caBundleOf,
  configurationPath,
  type Webhook,
  type WebhookConfiguration,
} from '../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isOutdated } from '../cluster/client/api-error.ts';
import { isSameService, type ServiceRef } from '../cluster/installation/service-ref.ts';
import { TAKEOVER_MS } from '../cluster/lease/leader-timings.ts';
import { PHASES } from '../judge/decision.ts';
import { messageOf } from '../runtime/error-message.ts';
import { followFault, kindOfMessage } from '../runtime/fault-log.ts';

/** A leader with certificates of the same source registers the CA itself, if need be after a takeover. */
const LEADER_FIRST_MS = TAKEOVER_MS + 3_000;
const CHECK_MS = 1_000;
/** A CA that is removed after this time was registered for its overlap. One that is removed sooner is removed by another writer, against which it waits so long at most. */
const STAYED_MS = 600_000;

/** Replicas that each issue a CA of their own, in directories that do not last, must not make a configuration too large. */
const MAX_CAS = 16;

export interface OwnCaOptions {
  readonly client: Pick<ApiClient, 'request' | 'now'>;
  readonly service: ServiceRef;
  readonly webhooks: Pick<RegisteredWebhooks, 'isSynced' | 'get' | 'trust'>;
  readonly certificates: Pick<CertificateKeeper, 'current'>;
  readonly isLeader: () => boolean;
  readonly log: Logger;
}

/**
 * Adds the CA of the served certificate to every `caBundle` that lacks it, if no leader does. While the source of the certificates is changed, the leader
 * has those of the earlier source, and cannot know the CA. It keeps what is registered (see {@link CA_ADDED}). Otherwise the replica would never be ready,
 * and the rollout would never replace the leader.
 *
 * Only users who may write the configurations or the certificates of a replica can add a CA. Nothing else is changed, and no CA is removed.
 */
export function addOwnCa({ client, service, webhooks, certificates, isLeader, log }: OwnCaOptions): { stop(): void } {
  const fault = followFault(log, 'the CA of this replica can be added again');
  /** Since when it is missing, or since when it could not be added. By performance.now(). */
  let since: number | undefined;
  /** When it was added last, and how many times since it last stayed. */
  let added: { readonly at: number; readonly times: number } | undefined;
  let isWriting = false;
  let stopped = false;
  const timer = setInterval(() => {
    if (!isWriting) void check();
  }, CHECK_MS).unref();

  return {
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };

  async function check(): Promise<void> {
    const ca = missingCa();
    if (ca === undefined) {
      since = undefined;
      return;
    }
    const now = performance.now();
    since ??= now;
    if (now < since + patienceMs(since)) return;
    isWriting = true;
    try {
      for (const phase of PHASES) if (!stopped) await add(phase, ca);
      added = { at: now, times: timesBefore(since) + 1 };
      since = undefined;
      fault.ended();
    } catch (error) {
      // Another client has changed the configuration, and the watch shows that next.
      if (!isOutdated(error)) {
        since = now;
        const message = `a caBundle lacks the CA of this replica, which could not be added: ${messageOf(error)}`;
        fault.occurred(kindOfMessage(message), message);
      }
    }
    isWriting = false;
  }

  /** For how long it waits for a leader, or for the end of another writer's changes. */
  function patienceMs(missingSince: number): number {
    const times = timesBefore(missingSince);
    // The leader has removed it at the end of the overlap, and would again.
    if (added && times === 0) return 0;
    return Math.min(STAYED_MS, LEADER_FIRST_MS * 2 ** times);
  }

  function timesBefore(missingSince: number): number {
    return added && missingSince < added.at + STAYED_MS ? added.times : 0;
  }

  /** The CA of the served certificate, if a `caBundle` lacks it, and the API server would accept the certificate with it. */
  function missingCa(): X509Certificate | undefined {
    if (isLeader() || !webhooks.isSynced()) return undefined;
    const current = certificates.current();
    const { ca, uncovered } = current;
    if (ca === undefined || webhooks.trust.trustedForMs(ca) !== undefined) return undefined;
    if (servableFault(current, uncovered, client.now()) !== undefined) return undefined;
    const bundles = PHASES.flatMap((phase) => (webhooks.get(phase)?.webhooks ?? []).filter(isOurs)).map(caBundleOf);
    // The API server accepts the certificates of the other replicas by the CAs of its system: a CA would end that.
    if (bundles.includes('')) return undefined;
    return bundles.some((bundle) => !hasCa(bundle, ca)) ? ca : undefined;
  }

  async function add(phase: ConfigurationPhase, ca: X509Certificate): Promise<void> {
    const found = webhooks.get(phase);
    const present = found?.webhooks ?? [];
    const changed = present.map((webhook) => withCa(webhook, ca));
    if (found === undefined || changed.every((webhook, index) => webhook === present[index])) return;
    const { kind } = CONFIGURATIONS[phase];
    const { annotations } = found.metadata;
    const body: WebhookConfiguration = {
      ...found,
      metadata: { ...found.metadata, annotations: { ...annotations, [CA_ADDED]: client.now().toISOString() } },
      webhooks: changed,
    };
    await client.request('PUT', configurationPath(phase), { body });
    log.info(`${kind}: added the CA of this replica, which a caBundle lacked`);
  }

  /** The same webhook if there is nothing to add. */
  function withCa(webhook: Webhook, ca: X509Certificate): Webhook {
    const bundle = caBundleOf(webhook);
    if (!isOurs(webhook) || hasCa(bundle, ca) || parseCertificates(bundle).length >= MAX_CAS) return webhook;
    const clientConfig = { ...webhook.clientConfig, ...caBundleFields(joinBundles(bundle, ca.toString())) };
    return { ...webhook, clientConfig };
  }

  function isOurs({ clientConfig }: Webhook): boolean {
    return clientConfig.service !== undefined && isSameService(clientConfig.service, service);
  }
}
