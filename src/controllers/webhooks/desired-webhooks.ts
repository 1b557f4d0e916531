import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { ConfigurationPhase, Webhook } from '../../cluster/webhook-configurations.ts';
import type { LabelSelectorRequirement } from '../../kubernetes/label-selector.ts';
import type { WebhookEntry } from '../../webhooks/entry.ts';

/**
 * A LabelSelector to compare with what is registered: all of it in one list, and what is undefined must not be there. Of a map, what
 * somebody added to it would not be seen; the API server leaves empty lists out.
 */
export function exactSelector(requirements: readonly LabelSelectorRequirement[]) {
  return { matchLabels: undefined, matchExpressions: requirements.length > 0 ? requirements : undefined };
}

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

const GROUPS: Readonly<Record<WebhookEntry['resource'], string>> = { nodes: '', daemonsets: 'apps' };

/**
 * Whether `actual` has all that `desired` says: lists item by item, of maps the fields that are wanted. Fields that a newer
 * API server adds by itself are no difference, or the configuration would be written forever.
 */
export function covers(actual: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return (
      Array.isArray(actual) &&
      actual.length === desired.length &&
      desired.every((item, index) => covers(actual[index], item))
    );
  }
  if (typeof desired === 'object' && desired !== null) {
    return (
      typeof actual === 'object' &&
      actual !== null &&
      Object.entries(desired).every(([field, value]) => covers((actual as Record<string, unknown>)[field], value))
    );
  }
  return actual === desired;
}
