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
