import type { SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { isMapping } from '../kubernetes/json.ts';

/** The fields of the document without a kind. */
const ROOT_FIELDS = ['version', 'debug', 'persist', 'machine', 'cluster'] as const;

/** A file that is neither a machine configuration of Talos nor a patch of one. */
export class ForeignFileError extends InputError {
  override name = 'ForeignFileError';
}

/** @throws ForeignFileError for a document that Talos does not know */
export function requireOwn(document: SourceDocument): void {
  const fault = foreignness(document.value);
  if (fault !== undefined) throw new ForeignFileError([`${document.locate([])}: ${fault}`]);
}

/** Kinds that occur at most once, of those that concern nodes. Undefined is the machine configuration itself. */
const SINGLE: readonly unknown[] = [undefined, 'KubeNodeConfig', 'KubeletConfig', 'HostnameConfig'];

/**
 * Talos refuses a second one (container.New of its machinery), and here the taints of one machine would count for another.
 * @throws InputError for two machine configurations in one file
 */
export function requireSingle(documents: readonly SourceDocument[]): void {
  const seen = new Map<unknown, SourceDocument>();
  for (const document of documents) {
    const { value } = document;
    if (!isMapping(value) || value.$patch === 'delete' || !SINGLE.includes(value.kind)) continue;
    const first = seen.get(value.kind);
    if (first) {
      const what = value.kind === undefined ? 'machine configuration' : value.kind;
      throw new InputError([
        `${document.locate([])}: a second ${what} in one file (the first: ${first.locate([])}): give each machine a file of its own`,
      ]);
    }
    seen.set(value.kind, document);
  }
}

function foreignness(value: unknown): string | undefined {
  if (!isMapping(value)) return 'expected a machine configuration of Talos, or a patch of one';
  if (isMapping(value.sops)) return 'this is encrypted by SOPS: decrypt it first, and pass it by standard input';
  if (SECRETS_BUNDLE.every((field) => Object.hasOwn(value, field))) {
    return 'these are the secrets of a cluster (talosctl gen secrets), and no machine configuration';
  }
  if (value.kind !== undefined) {
    return value.apiVersion === 'v1alpha1'
      ? undefined
      : 'this is no document of Talos: those have apiVersion: v1alpha1';
  }
  return ROOT_FIELDS.some((field) => Object.hasOwn(value, field))
    ? undefined
    : 'this is no machine configuration of Talos, nor a patch of one: it has neither machine nor cluster';
}

/** From `talosctl gen secrets`, which also has a section `cluster`. */
const SECRETS_BUNDLE: readonly string[] = ['certs', 'secrets'];
