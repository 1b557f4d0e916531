import {
  type ConfigurationPhase,
  caBundleFields,
  type Webhook,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { exactSelector } from '../../kubernetes/desired-fields.ts';
import { NAMESPACE_NAME_LABEL } from '../../kubernetes/label-selector.ts';
import { POLICY_API_GROUP, POLICY_VERSION } from '../../policy/policy.ts';
import type { WebhookEntry } from '../../webhooks/webhook-entry.ts';

export interface DesiredOptions {
  readonly service: ServiceRef;
  /** PEM. Undefined: without `caBundle`. */
  readonly bundle: string | undefined;
  readonly timeoutSeconds: number;
}

const APIS = {
  nodes: { apiGroups: [''], apiVersions: ['v1'] },
  daemonsets: { apiGroups: ['apps'], apiVersions: ['v1'] },
  taintpolicies: { apiGroups: [POLICY_API_GROUP], apiVersions: [POLICY_VERSION] },
};

/** The fields in which webhooks differ. */
interface OwnFields extends Omit<WebhookEntry, 'phase' | 'resource' | 'operations' | 'reinvocationPolicy' | 'widened'> {
  readonly path: string;
  readonly resource: keyof typeof APIS;
  readonly operations: readonly (WebhookEntry['operations'][number] | 'DELETE')[];
  readonly sideEffects: 'None' | 'NoneOnDryRun';
}

/** A field that is undefined must be absent: otherwise another writer could narrow the webhook unnoticed. */
function webhook(own: OwnFields, { service, bundle, timeoutSeconds }: DesiredOptions): Webhook {
  const { namespace, name, port } = service;
  return {
    name: own.name,
    clientConfig: {
      service: { namespace, name, port, path: own.path },
      ...caBundleFields(bundle),
    },
    rules: [{ ...APIS[own.resource], resources: [own.resource], operations: [...own.operations], scope: '*' }],
    namespaceSelector: exactSelector(own.namespaceSelector ?? []),
    objectSelector: exactSelector(own.objectSelector ?? []),
    matchPolicy: 'Equivalent',
    matchConditions: own.matchConditions.length > 0 ? own.matchConditions : undefined,
    failurePolicy: own.failurePolicy,
    sideEffects: own.sideEffects,
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  };
}

/** The desired webhooks of one phase, in the order of the entries. */
export function desiredWebhooks(
  entries: readonly WebhookEntry[],
  phase: ConfigurationPhase,
  options: DesiredOptions,
): Webhook[] {
  return entries
    .filter((entry) => entry.phase === phase)
    .map((entry) => ({
      ...webhook(
        {
          ...entry,
          path: `/${phase}`,
          // Our own DaemonSets must not wait for us. Nodes have no namespace, so the selector does not apply to them.
          namespaceSelector: [
            ...(entry.namespaceSelector ?? []),
            { key: NAMESPACE_NAME_LABEL, operator: 'NotIn', values: [options.service.namespace] },
          ],
          // Requests result in Events, dry runs do not.
          sideEffects: 'NoneOnDryRun',
        },
        options,
      ),
      ...(phase === 'mutate' ? { reinvocationPolicy: entry.reinvocationPolicy ?? 'Never' } : {}),
    }));
}

/** The name of {@link warningWebhook}. */
export const WARNING_WEBHOOK = 'warn.taintkeeper.dev';

/** The path of {@link warningWebhook}. */
export const WARNING_PATH = '/warn';

/** A write that does not change the spec needs no warning: the leader writes the status frequently. Nor does the end of a policy without nodes that wait. */
const NEEDS_WARNING = `request.operation == 'CREATE' || (request.operation == 'DELETE'
  ? has(oldObject.status) && has(oldObject.status.waiting) && oldObject.status.waiting > 0
  : object.spec != oldObject.spec)`;

/** The webhook for our own TaintPolicies. It warns their authors, and denies nothing. */
export function warningWebhook(options: DesiredOptions): Webhook {
  return webhook(
    {
      name: WARNING_WEBHOOK,
      path: WARNING_PATH,
      resource: 'taintpolicies',
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      matchConditions: [{ name: 'needs-warnings', expression: NEEDS_WARNING }],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
    },
    options,
  );
}
