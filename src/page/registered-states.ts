import type { X509Certificate } from 'node:crypto';
import { stringify } from 'yaml';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { hasCa, namesOf } from '../certs/inspect.ts';
import type { PolicyObject } from '../cluster/policy-object.ts';
import {
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundleOf,
  type RegisteredWebhooks,
  type Webhook,
} from '../cluster/webhook-configurations.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import { modeOf, type Policy } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { formatProblem } from '../policy/problem.ts';
import { assessCondition } from '../policy/status-conditions.ts';
import type { CertificateState, PolicyState, WebhookState } from './state.ts';

/** The fields of a webhook (admissionregistration.k8s.io/v1) that are shown. Other writers may have changed them. */
interface ShownFields {
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly rules?: readonly { readonly operations?: readonly string[]; readonly resources?: readonly string[] }[];
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly { readonly name: string }[];
}

/**
 * The registered webhooks.
 * @param ca the CA of the served certificate, if it is known
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
  // The API server fills in the default of failurePolicy.
  const { failurePolicy = 'Fail', timeoutSeconds, rules, objectSelector, matchConditions } = webhook as ShownFields;
  return {
    name: webhook.name,
    configuration: CONFIGURATIONS[phase].kind,
    failurePolicy,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(ca ? { trusted: hasCa(caBundleOf(webhook), ca) } : {}),
    rules: (rules ?? []).map(
      ({ operations = [], resources = [] }) => `${operations.join(', ')} ${resources.join(', ')}`,
    ),
    conditions: [
      ...requirementsOf(objectSelector).map((requirement) => `label ${formatRequirement(requirement)}`),
      ...(matchConditions ?? []).map(({ name }) => name),
    ],
  };
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
            ...{ type, status, reason, message, since, level },
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
  return { kind, name, mode: audit ? 'Audit' : modeOf(policy), valid: true, problems: [], spec };
}

function sorted(states: readonly PolicyState[]): PolicyState[] {
  const keyOf = ({ kind, name }: PolicyState) => `${kind}/${name}`;
  return states.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The served certificate, and how it is renewed. */
export function certificateState(certificates: Pick<CertificateKeeper, 'current' | 'fault'>): CertificateState {
  const { certificate, ca, renews } = certificates.current();
  const fault = certificates.fault();
  return {
    subject: (certificate.subject ?? '').split('\n').join(', '),
    names: namesOf(certificate),
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    ...(ca ? { caNotAfter: ca.validToDate.toISOString() } : {}),
    renews,
    ...(fault === undefined ? {} : { fault }),
  };
}
