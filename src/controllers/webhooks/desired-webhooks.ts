import type { Logger } from 'pino';
import type { PolicySnapshot } from '../../cluster/policies.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { ConfigurationPhase, Webhook } from '../../cluster/webhook-configurations.ts';
import { webhookEntries } from '../../webhooks/entries.ts';
import type { WebhookEntry } from '../../webhooks/entry.ts';
import { exactSelector } from '../managed-objects.ts';

export interface DesiredOptions {
  readonly service: ServiceRef;
  /** PEM; undefined leaves the field to whoever knows the CA. */
  readonly bundle: string | undefined;
  readonly timeoutSeconds: number;
}

/**
 * The webhooks of one phase as they should be registered, in the order of the entries. A field that is undefined must not be there:
 * nobody is to narrow a webhook unseen.
 */
export function desiredWebhooks(
  entries: readonly WebhookEntry[],
  phase: ConfigurationPhase,
  { service, bundle, timeoutSeconds }: DesiredOptions,
): Webhook[] {
  const { namespace, name, port } = service;
  return entries
    .filter((entry) => entry.phase === phase)
    .map((entry) => ({
      name: entry.name,
      clientConfig: {
        service: { namespace, name, port, path: `/${phase}` },
        ...(bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') }),
      },
      rules: [
        {
          apiGroups: [GROUPS[entry.resource]],
          apiVersions: ['v1'],
          resources: [entry.resource],
          operations: [...entry.operations],
          scope: '*',
        },
      ],
      // A DaemonSet of our own must not wait for us. Nodes are in no namespace: the selector does not count for them.
      namespaceSelector: exactSelector([
        ...(entry.namespaceSelector ?? []),
        { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [namespace] },
      ]),
      objectSelector: exactSelector(entry.objectSelector ?? []),
      matchPolicy: 'Equivalent',
      matchConditions: entry.matchConditions.length > 0 ? entry.matchConditions : undefined,
      ...(phase === 'mutate' ? { reinvocationPolicy: entry.reinvocationPolicy ?? 'Never' } : {}),
      failurePolicy: entry.failurePolicy,
      // Events tell of what a request has led to; a dry run leaves none.
      sideEffects: 'NoneOnDryRun',
      admissionReviewVersions: ['v1'],
      timeoutSeconds,
    }));
}

/** Whoever applies a policy waits no longer; a replica that does not lead has to read the nodes first. */
const ADVICE_TIMEOUT_SECONDS = 2;

/** The path of {@link adviceWebhook}. */
export const ADVICE_PATH = '/advise';

/**
 * The webhook for our own TaintPolicies: it warns whoever writes one, and refuses nothing. Their status is no matter of it, nor a write
 * that leaves their spec as it is: the leader writes a status all the time.
 */
export function adviceWebhook({ service, bundle }: Omit<DesiredOptions, 'timeoutSeconds'>): Webhook {
  const { namespace, name, port } = service;
  return {
    name: 'advise.taintkeeper.dev',
    clientConfig: {
      service: { namespace, name, port, path: ADVICE_PATH },
      ...(bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') }),
    },
    rules: [
      {
        apiGroups: ['taintkeeper.dev'],
        apiVersions: ['v1alpha1'],
        resources: ['taintpolicies'],
        operations: ['CREATE', 'UPDATE'],
        scope: '*',
      },
    ],
    namespaceSelector: exactSelector([]),
    objectSelector: exactSelector([]),
    matchPolicy: 'Equivalent',
    matchConditions: [
      { name: 'changes-the-spec', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" },
    ],
    failurePolicy: 'Ignore',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: ADVICE_TIMEOUT_SECONDS,
  };
}

const GROUPS: Readonly<Record<WebhookEntry['resource'], string>> = { nodes: '', daemonsets: 'apps' };

/** The API server compiles every expression of a configuration that is written, and requests wait for it. */
const LEAST_DISTANCE_MS = 2_000;

/** The webhooks that the policies need. They follow the policies at a distance: many changes in a row are few. */
export interface FollowedEntries {
  /** What to register now; compiled from {@link from}. */
  current(): readonly WebhookEntry[];
  from(): PolicySnapshot;
  /** In how many milliseconds {@link current} may take up a change of the policies. */
  dueInMs(): number;
}

/** @param audit takes every policy to be in mode Audit */
export function followPolicies(latest: () => PolicySnapshot, audit: boolean, log: Logger): FollowedEntries {
  let from = latest();
  let entries = webhookEntries(from.policies, { audit });
  let notBefore = 0;
  let complaints = '';

  return {
    current() {
      if (from !== latest() && performance.now() >= notBefore) {
        from = latest();
        entries = webhookEntries(from.policies, { audit });
        notBefore = performance.now() + LEAST_DISTANCE_MS;
        complain();
      }
      return entries;
    },
    from: () => from,
    dueInMs: () => Math.max(0, notBefore - performance.now()),
  };

  function complain(): void {
    const widened = entries.flatMap(({ name, widened }) => (widened ? [`${name} (${widened})`] : []));
    const now = widened.join(', ');
    if (now !== complaints && now !== '') log.warn(`webhooks that are called more often than necessary: ${now}`);
    complaints = now;
  }
}
