import type { X509Certificate } from 'node:crypto';
import type { CertificateKeeper } from '../../certs/certificate-keeper.ts';
import { fingerprints, invalidAt, joinBundles, parseCertificates } from '../../certs/inspect.ts';
import { readSecret } from '../../cluster/certificate-secret.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import { versionInForce } from '../../cluster/policy-object.ts';
import type { CertificateSecret } from '../../cluster/secret-keeper.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { RegisteredWebhooks } from '../../cluster/webhook-configurations.ts';
import { reported } from '../../policy/status-conditions.ts';
import type { Source } from '../../runtime/source.ts';
import { type Controller, POLICIES_GATHER_MS, type Run, startController } from '../controller.ts';
import type { Reports } from '../reports.ts';
import { followPolicies } from './desired-webhooks.ts';
import { webhookWriter } from './webhook-writer.ts';

export interface WebhookRegistrationOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** The name of this replica's pod. */
  readonly pod: string;
  /** Name of the ClusterRole that the configurations go with when it is deleted, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'changes'>;
  readonly webhooks: Pick<RegisteredWebhooks, 'get' | 'caBundles' | 'changes'>;
  readonly certificates: Pick<CertificateKeeper, 'current'> & { readonly changes: Source };
  /** Undefined where the certificates are in files. */
  readonly secret: CertificateSecret | undefined;
  /** How long a CA stays that only a `caBundle` has, in milliseconds. */
  readonly caOverlapMs: number;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Pick<Reports, 'add'>;
}

/** Keeps the webhook configurations as the policies need them, with the CAs that replicas serve. */
export function startWebhookRegistration(run: Run, options: WebhookRegistrationOptions): Controller {
  const { client, policies, webhooks, certificates, secret, reports } = options;
  const { signal, log } = run;
  const carried = carriedCas({ registered: webhooks.caBundles, overlapMs: options.caOverlapMs, now: client.now });
  const followed = followPolicies(policies.snapshot, options.audit, log);
  const writer = webhookWriter({
    client,
    service: options.service,
    pod: options.pod,
    ownerClusterRole: options.ownerClusterRole,
    bundle: () => (secret ? certificates.current().bundle : carried.bundle(certificates.current().bundle)),
    confirmBundle: secret ? (present, next) => confirmBundle(client, secret, present, next) : async () => {},
    actual: webhooks.get,
    signal,
    log,
  });
  /** Which versions of policies the registered webhooks are for. */
  let registered: ReadonlySet<string> = new Set();
  const attempted = Promise.withResolvers<void>();

  const changes = reports.add({
    ready: attempted.promise,
    conditions(policy) {
      // No webhook is called for it.
      if (policy.kind === 'TolerationRestriction') return [];
      const why = writer.unverified();
      const message = `the webhook was registered without a call over its Service: ${why}`;
      const reason = 'ServiceNotReachable';
      const unverified = why === undefined ? [] : reported('Unverified', { status: 'True', reason, message });
      // Where writing fails, the webhooks that are there stay in force.
      if (!policy.inForce || registered.has(versionInForce(policy) ?? '')) return unverified;
      const fault = writer.complaint();
      if (fault === undefined) return 'pending';
      const notCalled = `the API server does not call the webhook yet: ${fault}`;
      return [...reported('Ready', { status: 'False', reason: 'NotRegistered', message: notCalled }), ...unverified];
    },
  });
  const reconciler = startController(run, 'webhook-registration', reconcile, {
    onEnd() {
      attempted.resolve();
      changes.next();
    },
  });
  policies.changes.subscribe(() => reconciler.restart(Math.max(POLICIES_GATHER_MS, followed.dueInMs())), signal);
  for (const source of [webhooks.changes, certificates.changes]) source.subscribe(() => reconciler.trigger(), signal);
  return reconciler;

  async function reconcile(): Promise<number> {
    // Both configurations and the status are about the same policies: others may come while the first one is written.
    const { entries, from } = followed.current();
    const isComplete = policies.objects().every(({ inForce }) => inForce !== undefined);
    try {
      const againInMs = await writer.reconcile({ entries, isComplete });
      registered = from.versions;
      const dueInMs = Math.min(againInMs, carried.dueInMs());
      return from === policies.snapshot() ? dueInMs : Math.min(dueInMs, followed.dueInMs());
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
  client: ApiClient,
  { keeper, ref }: CertificateSecret,
  present: readonly string[],
  next: string | undefined,
): Promise<void> {
  const staying = new Set(fingerprints(next ?? ''));
  if (present.flatMap(fingerprints).every((one) => staying.has(one))) return;
  const { resourceVersion } = await readSecret(client, ref);
  if (resourceVersion !== keeper.stored().resourceVersion) {
    throw new Error(
      `Secret ${ref.namespace}/${ref.name} was changed since it was read: no CA is removed from a caBundle`,
    );
  }
}

export interface CarriedCasOptions {
  /** Every `caBundle` that is registered with the API server, PEM. */
  readonly registered: () => readonly string[];
  /** How long a CA stays that only a `caBundle` has, in milliseconds. */
  readonly overlapMs: number;
  /** The API server's clock. */
  readonly now: () => Date;
}

/**
 * What belongs into a `caBundle` where each replica has its certificates from files: they see new ones at different times (a
 * kubelet's sync takes a minute or two), and nobody knows what the others serve. So a CA that is registered and not in our
 * files stays for a while: other replicas may serve a certificate of it still, or, where a leader before us had seen newer
 * files, already.
 */
export interface CarriedCas {
  /**
   * @param own the CAs of our own files, PEM. Undefined if they name none: then the registered ones stay for as long as that lasts, because the
   * file may be damaged. Without any, the API server uses the CAs of its system.
   */
  bundle(own: string | undefined): string | undefined;
  /** When the next CA of the last bundle leaves it, in milliseconds from now; Infinity if none is to. */
  dueInMs(): number;
}

export function carriedCas({ registered, overlapMs, now }: CarriedCasOptions): CarriedCas {
  /** Since when our files are without a CA, by fingerprint, by performance.now(). */
  const missing = new Map<string, number>();
  /** The last bundle's CAs that our files do not have. */
  let carriedNow: readonly string[] = [];

  return {
    bundle(own) {
      if (own === undefined) {
        carriedNow = [];
        const isValid = (pem: string) => parseCertificates(pem).some((ca) => invalidAt(ca, now()) === undefined);
        return joinBundles(...registered().filter(isValid));
      }
      const ours = fingerprints(own);
      for (const one of ours) missing.delete(one);
      const carried = registered()
        .flatMap(parseCertificates)
        .filter((ca) => !ours.includes(ca.fingerprint256) && invalidAt(ca, now()) === undefined && stays(ca));
      carriedNow = carried.map(({ fingerprint256 }) => fingerprint256);
      return joinBundles(own, ...carried.map(String));
    },
    dueInMs() {
      // Its time may have ended while the bundle was written.
      return Math.min(...carriedNow.map((one) => Math.max(0, (missing.get(one) ?? 0) + overlapMs - performance.now())));
    },
  };

  function stays({ fingerprint256 }: X509Certificate): boolean {
    const since = missing.get(fingerprint256) ?? performance.now();
    missing.set(fingerprint256, since);
    return performance.now() < since + overlapMs;
  }
}
