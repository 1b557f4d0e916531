import { type CompleteFiles, FILES, type StoredFiles } from '../../certs/stored-files.ts';
import { readablePrivateKey } from '../../files/private-key.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import type { ApiClient } from '../client/api-client.ts';
import { isConflict, isOutdated } from '../client/api-error.ts';
import { findObject } from '../client/find-object.ts';
import { namespacedPath } from '../client/object-path.ts';

/** The certificates of a Secret, and the version to replace. Without a version, there is no Secret. */
export interface SecretState {
  readonly files: StoredFiles;
  readonly resourceVersion: string | undefined;
}

export const NO_SECRET: SecretState = {
  files: { cert: undefined, key: undefined, bundle: undefined, caKey: undefined },
  resourceVersion: undefined,
};

/** Where the Secret is. */
export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

interface SecretObject {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>> | null;
}

/** The path of the Secret's collection. */
export function secretsPath({ namespace }: SecretRef): string {
  return namespacedPath('/api/v1', namespace, 'secrets');
}

/** Reads the certificates of a Secret of core/v1. Its other fields are ignored. */
export function viewSecret(secret: unknown): SecretState {
  const { metadata, data } = secret as SecretObject;
  const text = (key: string) => {
    const value = data?.[key];
    return typeof value === 'string' && value !== ''
      ? readablePrivateKey(Buffer.from(value, 'base64').toString())
      : undefined;
  };
  return {
    files: { cert: text(FILES.cert), key: text(FILES.key), bundle: text(FILES.bundle), caKey: text(FILES.caKey) },
    resourceVersion: metadata?.resourceVersion,
  };
}

/** @throws ApiError for an answer other than the Secret or 404 */
export async function readSecret(client: ApiClient, ref: SecretRef): Promise<SecretState> {
  const found = await findObject(client, `${secretsPath(ref)}/${ref.name}`);
  return found === undefined ? NO_SECRET : viewSecret(found);
}

/**
 * Creates the Secret, or replaces its content if it is still the version of `before`.
 * @returns the stored content, or undefined if another writer was first: read it again
 * @throws ApiError
 */
export async function writeSecret(
  client: ApiClient,
  ref: SecretRef,
  files: CompleteFiles,
  before: SecretState,
): Promise<SecretState | undefined> {
  const encoded = Object.entries(FILES).map(([part, key]) => [
    key,
    Buffer.from(files[part as keyof typeof FILES]).toString('base64'),
  ]);
  const data = Object.fromEntries(encoded);
  try {
    return viewSecret(
      before.resourceVersion === undefined
        ? await client.request('POST', secretsPath(ref), {
            body: {
              apiVersion: 'v1',
              kind: 'Secret',
              type: 'kubernetes.io/tls',
              metadata: { name: ref.name, labels: MANAGED_LABELS },
              data,
            },
          })
        : await client.request('PATCH', `${secretsPath(ref)}/${ref.name}`, {
            contentType: 'application/merge-patch+json',
            body: { metadata: { resourceVersion: before.resourceVersion }, data },
          }),
    );
  } catch (error) {
    if (before.resourceVersion === undefined ? isConflict(error) : isOutdated(error)) return undefined;
    throw error;
  }
}
