import type { Path } from '../policy/problem.ts';
import type { SourceDocument } from './documents.ts';
import { InputError } from './input-error.ts';

/** As much of any object as says what it is. */
export interface KubernetesObject extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An object, and where in its document it stands. */
export interface FoundObject {
  readonly object: KubernetesObject;
  readonly path: Path;
}

/**
 * The object that a document is, or the items of the list that it is.
 * @throws InputError for what is no Kubernetes object
 */
export function objectsOf(document: SourceDocument): FoundObject[] {
  const { value } = document;
  if (!isKubernetesObject(value)) {
    throw new InputError([`${document.locate([])}: expected a Kubernetes object with apiVersion and kind`]);
  }
  // A kind may end in List without being one of Kubernetes' lists.
  if (!value.kind.endsWith('List') || value.items === undefined) return [{ object: value, path: [] }];
  // Go writes an empty list as null, too.
  if (value.items === null) return [];
  if (!Array.isArray(value.items)) throw new InputError([`${document.locate(['items'])}: expected a list of items`]);
  // Items of a NodeList as the API server writes it name no apiVersion and kind of their own.
  const inherited =
    value.kind === 'List' ? {} : { apiVersion: value.apiVersion, kind: value.kind.slice(0, -'List'.length) };
  return value.items.map((item, index) => {
    const path = ['items', index];
    const object = isMap(item) ? { ...inherited, ...item } : item;
    if (!isKubernetesObject(object)) {
      throw new InputError([`${document.locate(path)}: expected a Kubernetes object with apiVersion and kind`]);
    }
    return { object, path };
  });
}

function isKubernetesObject(value: unknown): value is KubernetesObject {
  return isMap(value) && typeof value.apiVersion === 'string' && typeof value.kind === 'string';
}

/** True for a JSON object. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
