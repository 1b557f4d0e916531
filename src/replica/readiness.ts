import type { X509Certificate } from 'node:crypto';
import { hasCa, parseCertificates } from '../certs/bundle.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { notFor } from '../certs/certificate-names.ts';
import { invalidAt } from '../certs/inspect.ts';
import { servableFault, servableInvalidAt } from '../certs/servable-certificates.ts';
import { CA_LOOKAHEAD_MS, EXPIRES_SOON_MS, FUTURE_CAUSE } from '../certs/stored-faults.ts';
import type { RegisteredWebhooks } from '../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../cluster/policies/policies.ts';
import { definitionOf } from '../cluster/policies/policy-definitions.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { POLICY_RESOURCES } from '../cluster/policies/policy-paths.ts';
import type { PolicyStore } from '../files/policy-store.ts';
import type { Check } from '../server/admin-server.ts';
import { atMost } from '../text/counts.ts';

/**
 * How long an API server may take to learn of a stored webhook configuration. `PROPAGATION_MS` of certs/rotation.ts is longer, because an earlier
 * certificate is served during that time. Here, a starting replica is not ready for this time.
 */
const TRUST_SETTLES_MS = 2_000;

/** For unusable policies: the line must stay readable. */
const MAX_NAMED = 10;

/** What a replica in a cluster knows of itself. */
export interface ReplicaState {
  /** Undefined until the first ones were opened. */
  readonly certificates?: CertificateKeeper;
  /** The node whose drain waits for the eviction of this replica. */
  readonly drained?: string | undefined;
  readonly stopping: boolean;
}

export interface ClusterCheckOptions {
  readonly client: Pick<ApiClient, 'now' | 'isClockConfirmed'>;
  readonly policies: ClusterPolicies;
  readonly webhooks: Pick<RegisteredWebhooks, 'isSynced' | 'caBundles' | 'trust'>;
  readonly audit: boolean;
}

/** All checks of a replica in a cluster. */
export function clusterChecks(
  { client, policies, webhooks, audit }: ClusterCheckOptions,
  replica: ReplicaState,
): () => readonly Check[] {
  const trusted = trustCheck(webhooks);
  return () => {
    const { certificates, drained, stopping } = replica;
    const apiServer = { now: client.now(), clocksAgree: client.isClockConfirmed() };
    return [
      clusterPoliciesCheck(policies, audit),
      ...(certificates ? [certificateCheck(certificates, apiServer), trusted(certificates)] : [NO_CERTIFICATE_YET]),
      ...(drained === undefined ? [] : [drainCheck(drained)]),
      stoppingCheck(stopping),
    ];
  };
}

const NO_CERTIFICATE_YET: Check = { name: 'certificate', state: 'failed', detail: 'there is none yet' };

/** Degraded while the policy files are broken, and the last good policies are in force. */
export function policyCheck(store: PolicyStore, audit: boolean): Check {
  const load = store.lastLoad();
  const count = Object.values(store.policies()).reduce((sum, { length }) => sum + length, 0);
  const inForce = `${count} in force${audit ? ', all as Audit' : ''}`;
  return load.ok
    ? { name: 'policies', state: 'ok', detail: inForce }
    : { name: 'policies', state: 'degraded', detail: `${inForce}, the last good ones: ${load.faults.join('; ')}` };
}

/**
 * Failed until the cluster's policies have been read. Degraded while some of them cannot be used, a kind has no definition, or nothing was received
 * about them for long. Not failed then, because old policies are better than no replica, and all replicas lose the API server at the same time.
 */
export function clusterPoliciesCheck(policies: ClusterPolicies, audit: boolean): Check {
  const name = 'policies';
  if (!policies.isSynced()) {
    const unread = policies.unread().map(({ kind, problem }) => `${POLICY_RESOURCES[kind]}: ${problem}`);
    return { name, state: 'failed', detail: unread.length > 0 ? unread.join('; ') : 'not read yet' };
  }
  const staleSince = policies.staleSince();
  const inForce = `${policies.snapshot().policies.length} in force${audit ? ', all as Audit' : ''}`;
  const invalid = policies.objects().filter(({ result }) => !result.ok);
  const stale = staleSince && `, as of ${staleSince.toISOString()}: nothing was heard from the API server since`;
  const unusable = invalid.length > 0 && `; not usable: ${atMost(MAX_NAMED, invalid.map(nameOf)).join(', ')}`;
  const missing = policies.kindsWithoutDefinition().map(definitionOf);
  const noDefinitionText = missing.length > 0 && `; no CustomResourceDefinition ${missing.join(', ')}`;
  return {
    name,
    state: stale || unusable || noDefinitionText ? 'degraded' : 'ok',
    detail: `${inForce}${stale || ''}${unusable || ''}${noDefinitionText || ''}`,
  };
}

function nameOf({ kind, name, inForce }: PolicyObject): string {
  return `${kind} ${name}${inForce ? ` (generation ${inForce.generation} stays in force)` : ''}`;
}

/**
 * Failed until the API server trusts the served certificate: a replica with another CA gets no requests before the webhook configurations contain it.
 * It then stays in service, because otherwise no replica would be.
 */
export function trustCheck(
  webhooks: Pick<RegisteredWebhooks, 'isSynced' | 'caBundles' | 'trust'>,
): (certificates: Pick<CertificateKeeper, 'current'>) => Check {
  const name = 'webhooks';
  let everTrusted = false;
  return (certificates) => {
    const bundles = webhooks.caBundles();
    const { ca } = certificates.current();
    const lacking = ca ? bundles.filter((bundle) => !hasCa(bundle, ca)).length : 0;
    everTrusted ||= webhooks.isSynced() && (ca === undefined || isSettled(ca));
    if (lacking > 0) {
      const detail = `the caBundle of ${lacking} of ${bundles.length} webhooks lacks the CA that is served`;
      return { name, state: everTrusted ? 'degraded' : 'failed', detail };
    }
    if (!webhooks.isSynced() && !everTrusted) {
      return { name, state: 'failed', detail: 'the webhook configurations have not been read yet' };
    }
    if (!everTrusted) return { name, state: 'failed', detail: 'the API server does not trust the new CA yet' };
    return { name, state: 'ok', detail: bundles.length > 0 ? `${bundles.length} registered` : 'none registered' };
  };

  function isSettled(ca: X509Certificate): boolean {
    return (webhooks.trust.trustedForMs(ca) ?? Number.NEGATIVE_INFINITY) >= TRUST_SETTLES_MS;
  }
}

export interface ApiServerClock {
  readonly now: Date;
  /** Whether it agrees with the local clock. */
  readonly clocksAgree: boolean;
}

/**
 * Failed if no client can accept the certificate now. Degraded if it needs attention.
 * @param apiServer the clock of the API server, which is the only client, and calls by the requested names. Undefined if the clients are not known: some
 * may call by other names, and the local clock decides
 */
export function certificateCheck(certificates: CertificateKeeper, apiServer?: ApiServerClock): Check {
  const { now, clocksAgree } = apiServer ?? { now: new Date(), clocksAgree: true };
  const current = certificates.current();
  const { serving, certificate, ca, renews, uncovered } = current;
  const fault = certificates.fault();
  // If the clients are not known, they may trust another CA than that of the file.
  const invalid = apiServer ? servableFault(current, [], now) : servableInvalidAt(current, now);
  const unfit = notFor(uncovered);
  const isFuture =
    invalid !== undefined &&
    [...parseCertificates(serving.cert), ...(ca ? [ca] : [])].some(({ validFromDate }) => now < validFromDate);
  const concerns = [
    ...(isFuture && clocksAgree ? [renews === 'all' ? FUTURE_REPLACED : FUTURE_CAUSE] : []),
    ...(invalid && !clocksAgree
      ? [`it is ${now.toISOString()} by the API server's clock, and this machine's clock differs`]
      : []),
    ...(unfit ? [`it is ${unfit}`] : []),
    ...(renews === 'nothing' && !invalid && invalidAt(certificate, new Date(now.getTime() + EXPIRES_SOON_MS))
      ? ['it expires soon, and was not replaced']
      : []),
    ...(ca && renews === 'serving' && invalidAt(ca, new Date(now.getTime() + CA_LOOKAHEAD_MS))
      ? [`its CA expires ${ca.validToDate.toISOString()}, and is not replaced by itself`]
      : []),
    ...(fault ? [fault] : []),
  ];
  if (invalid || (apiServer && uncovered.length > 0)) {
    return { name: 'certificate', state: 'failed', detail: [...(invalid ? [invalid] : []), ...concerns].join('; ') };
  }
  const expires = `expires ${certificate.validToDate.toISOString()}, ${renews === 'nothing' ? 'renewed by its issuer' : 'renewed in time'}`;
  return concerns.length > 0
    ? { name: 'certificate', state: 'degraded', detail: [expires, ...concerns].join('; ') }
    : { name: 'certificate', state: 'ok', detail: expires };
}

const FUTURE_REPLACED = `${FUTURE_CAUSE}; the leader replaces it after ten minutes`;

/** Failed: the PodDisruptionBudget allows the eviction of the last replica of a drained node only if it is not ready. */
export function drainCheck(node: string): Check {
  return { name: 'drain', state: 'failed', detail: `node ${node} is cordoned, and no other node takes a replica` };
}

/** Failed from the start of a shutdown on. */
export function stoppingCheck(stopping: boolean): Check {
  return stopping
    ? { name: 'shutdown', state: 'failed', detail: 'stopping' }
    : { name: 'shutdown', state: 'ok', detail: 'not asked for' };
}
