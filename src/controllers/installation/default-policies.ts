import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { policiesPath } from '../../cluster/policies/policy-paths.ts';
import { parseDocuments } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { policyAt } from '../../files/policy-files.ts';
import type { Policy } from '../../policy/policy.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';

/** An annotation of the ConfigMap: the entries that have been created, and are never created again. */
const CREATED_ANNOTATION = 'taintkeeper.dev/created';
/** The interval while an entry is not valid: the ConfigMap is not watched. */
const READ_AGAIN_MS = 60_000;

export interface DefaultPoliciesOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** A ConfigMap with a policy in each entry. */
  readonly configMap: string;
}

interface ConfigMap {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Creates each policy of the ConfigMap once. A policy that is deleted or changed later stays so. The policies are in a ConfigMap because one
 * `kubectl apply` cannot create a custom resource together with its definition. An entry that is not valid is not recorded as created, and is read
 * again. One with a policy that the API server refuses is not recorded either. This leader creates each of its other policies once, but a new leader may
 * create one again that the user has deleted.
 */
export function startDefaultPolicies(run: Run, { client, namespace, configMap }: DefaultPoliciesOptions): Controller {
  const { log } = run;
  const path = namespacedPath('/api/v1', namespace, 'configmaps', configMap);
  /** The problems of entries that were logged: each is logged once. */
  let logged = new Set<string>();
  /** `KIND/NAME` of the policies that this leader has created, or found: their entry may not be recorded yet. */
  const createdHere = new Set<string>();
  return startControllerReconciler(run, 'default-policies', reconcile);

  async function reconcile(): Promise<number | undefined> {
    const { metadata, data = {} } = await client.request<ConfigMap>('GET', path);
    const created = (metadata.annotations?.[CREATED_ANNOTATION] ?? '').split(',').filter(Boolean);
    const missing = Object.keys(data).filter((entry) => !created.includes(entry));
    if (missing.length === 0) return undefined;
    const done: string[] = [];
    const faults: unknown[] = [];
    const invalid = new Set<string>();
    for (const entry of missing) {
      const manifests = readManifests(data[entry] ?? '', entry);
      if ('problem' in manifests) {
        const fault = `ConfigMap ${namespace}/${configMap}, ${manifests.problem}; none of its policies is created until it is corrected`;
        if (!logged.has(fault)) log.error(fault);
        invalid.add(fault);
        continue;
      }
      try {
        for (const manifest of manifests.valid) await create(manifest);
        done.push(entry);
      } catch (error) {
        faults.push(error);
      }
    }
    logged = invalid;
    // Even if another entry failed: a policy that the user deletes before the next attempt must not be created again.
    if (done.length > 0) await record([...created, ...done], metadata.resourceVersion);
    if (faults.length > 0) throw faults[0];
    return invalid.size > 0 ? READ_AGAIN_MS : undefined;
  }

  async function record(created: readonly string[], resourceVersion: string): Promise<void> {
    const annotations = { [CREATED_ANNOTATION]: created.join(',') };
    await client.request('PATCH', path, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion, annotations } },
    });
  }

  async function create({ policy: { kind, name }, manifest }: Manifest): Promise<void> {
    const key = `${kind}/${name}`;
    if (createdHere.has(key)) return;
    try {
      await client.request('POST', policiesPath(kind), { body: manifest });
      log.info(`${kind} ${name} created, as a default policy`);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    createdHere.add(key);
  }
}

interface Manifest {
  readonly policy: Policy;
  readonly manifest: unknown;
}

/** All policies of an entry, or the first problem, with its place. If one policy of an entry is not valid, none is created. */
function readManifests(
  text: string,
  entry: string,
): { readonly valid: readonly Manifest[] } | { readonly problem: string } {
  try {
    const valid = parseDocuments(text, entry).map((document): Manifest => {
      const { value: manifest } = document;
      return { policy: policyAt(document, manifest, []), manifest };
    });
    return valid.length > 0 ? { valid } : { problem: `${entry}: there is no policy in it` };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { problem: error.faults[0] ?? '' };
  }
}
