import type { SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { isMapping } from './tree.ts';

/** The fields of the document without a kind. */
export const ROOT_FIELDS = ['version', 'debug', 'persist', 'machine', 'cluster'] as const;

/** @throws InputError for a document that Talos would not take for one of its own */
export function requireOwn(document: SourceDocument): void {
  const fault = foreignness(document.value);
  if (fault !== undefined) throw new InputError([`${document.locate([])}: ${fault}`]);
}

/** What there is one of, of what says something of nodes; of undefined, the machine configuration itself. */
const SINGLE: readonly unknown[] = [undefined, 'KubeNodeConfig', 'KubeletConfig', 'HostnameConfig'];

/**
 * Talos refuses a second one (container.New of its machinery), and here the taints of one machine would be taken for another's.
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
  if (value.kind !== undefined) {
    return value.apiVersion === 'v1alpha1'
      ? undefined
      : 'this is no document of Talos: those have apiVersion: v1alpha1';
  }
  return ROOT_FIELDS.some((field) => Object.hasOwn(value, field))
    ? undefined
    : 'this is no machine configuration of Talos, nor a patch of one: it has neither machine nor cluster';
}
