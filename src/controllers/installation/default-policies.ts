import type { Logger } from 'pino';
import { parseAllDocuments } from 'yaml';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { POLICY_GROUP, POLICY_RESOURCES } from '../../cluster/policies.ts';
import { parsePolicy } from '../../policy/policy.ts';
import { type Controller, type LeaderContext, startController } from '../context.ts';

/** On the ConfigMap: which of its entries have been created, once and for all. */
const CREATED_ANNOTATION = 'taintkeeper.dev/created';

export interface DefaultPoliciesOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** A ConfigMap with a policy in each entry. */
  readonly configMap: string;
  readonly log: Logger;
}

interface ConfigMap {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * One run that creates the policies of the ConfigMap, each once ever: one that was deleted or changed later stays so. They come
 * this way because one `kubectl apply` cannot create a custom resource together with its definition.
 */
export function defaultPolicies({
  client,
  namespace,
  configMap,
  log,
}: DefaultPoliciesOptions): () => Promise<undefined> {
  const path = `/api/v1/namespaces/${namespace}/configmaps/${configMap}`;
  return async () => {
    const { metadata, data = {} } = await client.request<ConfigMap>('GET', path);
    const created = (metadata.annotations?.[CREATED_ANNOTATION] ?? '').split(',').filter(Boolean);
    const missing = Object.keys(data).filter((entry) => !created.includes(entry));
    if (missing.length === 0) return undefined;
    const done: string[] = [];
    const faults: unknown[] = [];
    for (const entry of missing) {
      try {
        await create(entry, data[entry] ?? '');
        done.push(entry);
      } catch (error) {
        faults.push(error);
      }
    }
    // Also while another one is refused, and tried again: what somebody deletes meanwhile is not to come back.
    if (done.length > 0) await record([...created, ...done], metadata.resourceVersion);
    if (faults.length > 0) throw faults[0];
    return undefined;
  };

  async function record(created: readonly string[], resourceVersion: string): Promise<void> {
    const annotations = { [CREATED_ANNOTATION]: created.join(',') };
    await client.request('PATCH', path, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion, annotations } },
    });
  }

  async function create(entry: string, text: string): Promise<void> {
    for (const document of parseAllDocuments(text)) {
      const manifest: unknown = document.toJS();
      const result = parsePolicy(manifest);
      if (!result.ok) {
        log.error(`ConfigMap ${namespace}/${configMap}, ${entry}: ${result.problems[0]?.message}; it is left out`);
        continue;
      }
      const { kind, name } = result.policy;
      try {
        await client.request('POST', `${POLICY_GROUP}/${POLICY_RESOURCES[kind]}`, { body: manifest });
        log.info(`${kind} ${name} created, as a default policy`);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }
}

export function startDefaultPolicies(context: LeaderContext): Controller | undefined {
  const { defaultPolicies: configMap } = context;
  return configMap
    ? startController(context, 'default-policies', defaultPolicies({ ...context, configMap }))
    : undefined;
}
