import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { ConfigurationPhase, Webhook } from '../../cluster/webhook-configurations.ts';
import type { WebhookEntry } from '../../webhooks/entry.ts';
import { exactSelector } from '../managed-objects.ts';

export interface DesiredOptions {
  readonly service: ServiceRef;
  /** PEM; undefined leaves the field to the replica that knows the CA. */
  readonly bundle: string | undefined;
  readonly timeoutSeconds: number;
}

const APIS = {
  nodes: { apiGroups: [''], apiVersions: ['v1'] },
  daemonsets: { apiGroups: ['apps'], apiVersions: ['v1'] },
  taintpolicies: { apiGroups: ['taintkeeper.dev'], apiVersions: ['v1alpha1'] },
};

/** What one webhook has, and others do not. */
interface OwnFields extends Omit<WebhookEntry, 'phase' | 'resource' | 'reinvocationPolicy' | 'widened'> {
  readonly path: string;
  readonly resource: keyof typeof APIS;
  readonly sideEffects: 'None' | 'NoneOnDryRun';
}

/** A field that is undefined must not be there: nobody is to narrow a webhook unseen. */
function webhook(own: OwnFields, { service, bundle, timeoutSeconds }: DesiredOptions): Webhook {
  const { namespace, name, port } = service;
  return {
    name: own.name,
    clientConfig: {
      service: { namespace, name, port, path: own.path },
      ...(bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') }),
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

/** The webhooks of one phase as they should be registered, in the order of the entries. */
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
          // A DaemonSet of our own must not wait for us. Nodes are in no namespace: the selector does not count for them.
          namespaceSelector: [
            ...(entry.namespaceSelector ?? []),
            { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [options.service.namespace] },
          ],
          // Events tell of what a request has led to; a dry run leaves none.
          sideEffects: 'NoneOnDryRun',
        },
        options,
      ),
      ...(phase === 'mutate' ? { reinvocationPolicy: entry.reinvocationPolicy ?? 'Never' } : {}),
    }));
}

/** Whoever applies a policy waits no longer; a replica that does not lead has to read the nodes first. */
const ADVICE_TIMEOUT_SECONDS = 2;

/** The path of {@link warningWebhook}. */
export const ADVICE_PATH = '/advise';

/**
 * The webhook for our own TaintPolicies: it warns whoever writes one, and refuses nothing. Their status is no matter of it, nor a write
 * that leaves their spec as it is: the leader writes a status all the time.
 */
export function warningWebhook(options: Omit<DesiredOptions, 'timeoutSeconds'>): Webhook {
  return webhook(
    {
      name: 'advise.taintkeeper.dev',
      path: ADVICE_PATH,
      resource: 'taintpolicies',
      operations: ['CREATE', 'UPDATE'],
      matchConditions: [
        { name: 'changes-the-spec', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" },
      ],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
    },
    { ...options, timeoutSeconds: ADVICE_TIMEOUT_SECONDS },
  );
}
