import { fingerprints } from '../../certs/bundle.ts';
import type { CertificateKeeper } from '../../certs/certificate-keeper.ts';
import type { RegisteredWebhooks } from '../../cluster/admission-registration/registered-webhooks.ts';
import { readSecret } from '../../cluster/certificates/certificate-secret.ts';
import type { CertificateSecret } from '../../cluster/certificates/secret-keeper.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { versionInForce } from '../../cluster/policies/policy-object.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import { reported } from '../../policy/reporting/status-conditions.ts';
import { orAborted } from '../../runtime/abort.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import { type Controller, POLICIES_GATHER_MS, type Run, startControllerReconciler } from '../controller.ts';
import type { Reports, StalledProblem } from '../reports.ts';
import { applyWebhooks } from './apply-webhooks.ts';
import { carriedCas } from './carried-cas.ts';
import { followPolicies } from './followed-entries.ts';
import { registeredVersions } from './registered-versions.ts';
import { serviceCheck } from './service-check.ts';
import { storedConfigurations } from './stored-configurations.ts';
import { webhookWriter } from './webhook-writer.ts';

export interface WebhookRegistrationOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** The name of this replica's pod. */
  readonly pod: string;
  /** Name of the ClusterRole that owns the configurations, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'changes'>;
  readonly webhooks: Pick<RegisteredWebhooks, 'changes' | 'synced' | 'isSynced' | 'tried' | 'problem'>;
  readonly certificates: Pick<CertificateKeeper, 'current'> & { readonly changes: Source };
  /** Undefined where the certificates are in files. */
  readonly secret: CertificateSecret | undefined;
  /** How long a CA stays in a `caBundle` after the certificates in files no longer have it, in milliseconds. */
  readonly caOverlapMs: number;
  /** The `timeoutSeconds` of the webhooks. */
  readonly webhookTimeoutSeconds: number;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Pick<Reports, 'add'>;
}

/** Keeps the webhook configurations as the policies need them, with the CAs that replicas serve. */
export function startWebhookRegistration(run: Run, options: WebhookRegistrationOptions): Controller {
  const { client, service, policies, webhooks, certificates, secret, reports } = options;
  const { webhookTimeoutSeconds: timeoutSeconds } = options;
  const { signal, log } = run;
  const stored = storedConfigurations(client);
  const registered = registeredVersions();
  const carried = carriedCas({
    registered: stored.caBundles,
    overlapMs: secret ? 0 : options.caOverlapMs,
    othersStayForMs: () => stored.casStayForMs(client.now(), options.caOverlapMs),
    now: client.now,
  });
  const followed = followPolicies(policies.snapshot, options.audit, log);
  const check = serviceCheck({ client, service, pod: options.pod, signal, log });
  const writer = webhookWriter({
    client,
    service,
    serviceCheck: check,
    ownerClusterRole: options.ownerClusterRole,
    confirmBundle: secret ? (present, next) => confirmBundle(client, secret, present, next) : async () => {},
    stored,
    log,
  });
  const attempted = Promise.withResolvers<void>();
  /** Why the API server may not call all webhooks, by the last run. */
  let problem: string | undefined;

  const changes = createSubject();
  reports.add('webhooks', {
    changes,
    ready: attempted.promise,
    problems() {
      const conflict = writer.conflict();
      if (conflict === undefined) return [];
      const message =
        `the webhook is repeatedly not registered as the policy requires: ${conflict}. taintkeeper restores it within a minute. ` +
        'Until then, the API server may not call it, or may call it with other settings';
      return policies
        .objects()
        .filter(({ inForce }) => inForce)
        .flatMap(({ kind, name }): StalledProblem[] =>
          needsWebhooks(kind) ? [{ kind, policy: name, reason: 'WebhookConflict', message }] : [],
        );
    },
    conditions(policy) {
      if (!needsWebhooks(policy.kind)) return [];
      const why = check.unverified();
      const message = `the webhook was registered without a call over its Service: ${why}`;
      const reason = 'ServiceNotReachable';
      const unverified = why === undefined ? [] : reported('Ready', { status: 'True', reason, message });
      if (!policy.inForce || registered.has(versionInForce(policy) ?? '')) return unverified;
      if (problem === undefined) return 'pending';
      const notRegistered = `the webhook is not registered for the policy: ${problem}`;
      return reported('Ready', { status: 'False', reason: 'NotRegistered', message: notRegistered });
    },
  });
  const reconciler = startControllerReconciler(run, 'webhook-registration', reconcile, {
    onEnd() {
      attempted.resolve();
      changes.next();
    },
  });
  webhooks.synced.then(
    () => reconciler.restart(),
    () => {},
  );
  policies.changes.subscribe(() => reconciler.restart(Math.max(POLICIES_GATHER_MS, followed.dueInMs())), signal);
  for (const source of [webhooks.changes, certificates.changes]) source.subscribe(() => reconciler.trigger(), signal);
  return reconciler;

  async function reconcile(): Promise<number> {
    await orAborted(webhooks.tried, signal);
    if (!webhooks.isSynced()) {
      problem = `the webhook configurations cannot be read: ${webhooks.problem()}`;
      throw new Error(problem);
    }
    // Both configurations and the status are made from the same policies, which may change while the first one is written.
    const { entries, from } = followed.current();
    const isComplete = policies.objects().every(({ inForce }) => inForce !== undefined);
    const needed = { entries, isComplete, versions: from.versions };
    const result = await applyWebhooks(needed, { service, timeoutSeconds, mergeBundle, stored, registered, writer });
    problem = result.problem;
    if (result.fault) throw result.fault;
    // Not only after the call, which may take seconds.
    changes.next();
    if (check.unverified() !== undefined) await check.verify(mergeBundle());
    const dueInMs = Math.min(result.againInMs, carried.dueInMs());
    return from === policies.snapshot() ? dueInMs : Math.min(dueInMs, followed.dueInMs());
  }

  function mergeBundle(): string | undefined {
    const { bundle, ca } = certificates.current();
    return carried.merge(bundle, secret !== undefined || ca !== undefined);
  }
}

/** Native policies enforce a TolerationRestriction, and the leader a RecoveryPolicy. */
function needsWebhooks(kind: PolicyKind): kind is 'TaintPolicy' | 'TolerationPolicy' {
  return kind !== 'TolerationRestriction' && kind !== 'RecoveryPolicy';
}

/**
 * Prevents a leader with an outdated Secret from removing a CA: a CA is removed from a `caBundle` only if the Secret is unchanged since it was read.
 * @throws Error if it was changed
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
