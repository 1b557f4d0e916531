import type { X509Certificate } from 'node:crypto';
import { stringify } from 'yaml';
import { hasCa } from '../certs/bundle.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { EXPIRES_SOON_MS } from '../certs/stored-faults.ts';
import {
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundleOf,
  type RegisteredWebhooks,
} from '../cluster/admission-registration/webhook-configurations.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { modeOf, type Policy } from '../policy/policy.ts';
import { formatProblem } from '../policy/problem.ts';
import type { PolicyStatus } from '../policy/reporting/policy-status.ts';
import { assessCondition } from '../policy/reporting/status-conditions.ts';
import { patchesExisting } from '../policy/toleration-policy.ts';
import type { CertificateState, PolicyState, WebhookState } from './state.ts';

/**
 * The registered webhooks.
 * @param ca the CA of the served certificate, if it is known
 */
export function webhookStates(
  webhooks: Pick<RegisteredWebhooks, 'get'>,
  ca: X509Certificate | undefined,
): WebhookState[] {
  return (Object.keys(CONFIGURATIONS) as ConfigurationPhase[]).flatMap((phase) =>
    (webhooks.get(phase)?.webhooks ?? []).map((webhook) => ({
      name: webhook.name,
      ...(ca ? { trusted: hasCa(caBundleOf(webhook), ca) } : {}),
    })),
  );
}

/** The policies of files. The checks report problems of files. */
export function filedPolicyStates(policies: readonly Policy[], audit: boolean): PolicyState[] {
  return sorted(policies.map((policy) => ({ ...inForce(policy, audit), violators: [], conditions: [] })));
}

/** The policies of a cluster, with their last status. */
export function clusterPolicyStates(objects: readonly PolicyObject[], audit: boolean): PolicyState[] {
  return sorted(
    objects.map(({ kind, name, result, inForce: used, status }) => {
      const { matched, violating, violators = [], conditions = [] } = (status ?? {}) as PolicyStatus;
      return {
        ...(used ? inForce(used.policy, audit) : { kind, name, spec: '' }),
        ...(result.ok
          ? { valid: true, problems: [] }
          : {
              valid: false,
              problems: result.problems.map(formatProblem),
              ...(used ? { generationInForce: used.generation } : {}),
            }),
        ...(matched === undefined ? {} : { matched }),
        ...(violating === undefined ? {} : { violating }),
        violators,
        conditions: conditions.map(({ type, status, reason, message, lastTransitionTime: since }) => {
          const { level, word, next } = assessCondition({ type, status, reason });
          return {
            type,
            status,
            reason,
            message,
            since,
            level,
            ...(level === 'quiet' ? {} : { word }),
            ...(next === undefined ? {} : { next }),
          };
        }),
      };
    }),
  );
}

/** Caches the YAML of policies. */
const specs = new WeakMap<Policy, string>();

function inForce(policy: Policy, audit: boolean): Omit<PolicyState, 'violators' | 'conditions'> {
  const { kind, name } = policy;
  const spec = specs.get(policy) ?? stringify(policy.spec);
  specs.set(policy, spec);
  const mode = audit ? 'Audit' : modeOf(policy);
  return {
    kind,
    name,
    mode,
    valid: true,
    problems: [],
    spec,
    ...(kind === 'TolerationPolicy' && patchesExisting(policy.spec, mode) ? { patchesExisting: true } : {}),
  };
}

function sorted(states: readonly PolicyState[]): PolicyState[] {
  const keyOf = ({ kind, name }: PolicyState) => `${kind}/${name}`;
  return states.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const DAY_MS = 86_400_000;

/**
 * The served certificate.
 * @param now by the clock of its clients, as for the check of it (decision 23)
 */
export function certificateState(certificates: Pick<CertificateKeeper, 'current'>, now: Date): CertificateState {
  const { validToDate } = certificates.current().certificate;
  const leftMs = validToDate.getTime() - now.getTime();
  return {
    notAfter: validToDate.toISOString(),
    daysLeft: Math.floor(leftMs / DAY_MS),
    expiresSoon: leftMs < EXPIRES_SOON_MS,
  };
}
