import { hasCa, parseCertificates } from '../certs/bundle.ts';
import type { Anchor } from '../certs/ca-trust.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { isTrusted } from '../certs/chain.ts';
import type { RegisteredWebhooks } from '../cluster/admission-registration/registered-webhooks.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../cluster/policies/policies.ts';
import { definitionOf } from '../cluster/policies/policy-definitions.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { POLICY_RESOURCES } from '../cluster/policies/policy-paths.ts';
import type { PolicyStore } from '../files/policy-store.ts';
import type { Check } from '../server/admin-server.ts';
import { atMost } from '../text/counts.ts';
import { certificateCheck, NO_CERTIFICATE_YET } from './certificate-check.ts';

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
  const trusted = trustCheck(webhooks, client.now);
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

/** Degraded while the policy files are broken, and the last good policies are in force. */
export function filedPoliciesCheck(store: PolicyStore, audit: boolean): Check {
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
  now: () => Date,
): (certificates: Pick<CertificateKeeper, 'current'>) => Check {
  const name = 'webhooks';
  let everTrusted = false;
  return (certificates) => {
    const bundles = webhooks.caBundles();
    const { ca, serving } = certificates.current();
    const chain = ca ? [] : parseCertificates(serving.cert);
    const anchor = ca ?? webhooks.trust.anchorOf(chain, now());
    everTrusted ||= webhooks.isSynced() && isSettled(anchor);
    const distrusting = bundles.filter((bundle) =>
      ca ? !hasCa(bundle, ca) : anchor === undefined && !isTrusted(chain, parseCertificates(bundle), now()),
    ).length;
    if (distrusting > 0) {
      const of = `${distrusting} of ${bundles.length} webhooks`;
      const detail = ca
        ? `the caBundle of ${of} lacks the CA that is served`
        : `the caBundles of ${of} do not trust the served certificate, and ca.crt does not have its CA: add it`;
      return { name, state: everTrusted ? 'degraded' : 'failed', detail };
    }
    if (!webhooks.isSynced() && !everTrusted) {
      return { name, state: 'failed', detail: 'the webhook configurations have not been read yet' };
    }
    if (!everTrusted) return { name, state: 'failed', detail: 'the API server does not trust the new CA yet' };
    return { name, state: 'ok', detail: bundles.length > 0 ? `${bundles.length} registered` : 'none registered' };
  };

  function isSettled(anchor: Anchor | undefined): boolean {
    const trustedForMs = anchor && webhooks.trust.trustedForMs(anchor);
    return trustedForMs !== undefined && trustedForMs >= TRUST_SETTLES_MS;
  }
}

/** Failed: the PodDisruptionBudget allows the eviction of the last replica of a drained node only if it is not ready. */
function drainCheck(node: string): Check {
  return { name: 'drain', state: 'failed', detail: `node ${node} is cordoned, and no other node takes a replica` };
}

/** Failed from the start of a shutdown on. */
export function stoppingCheck(stopping: boolean): Check {
  return stopping
    ? { name: 'shutdown', state: 'failed', detail: 'stopping' }
    : { name: 'shutdown', state: 'ok', detail: 'not asked for' };
}
