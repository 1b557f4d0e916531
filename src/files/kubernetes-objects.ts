import { isMapping } from '../kubernetes/json.ts';
import { MalformedObjectError } from '../objects/object-schema.ts';
import type { Path } from '../policy/problem.ts';
import type { SourceDocument } from './documents.ts';
import { InputError } from './input-error.ts';
import { TEMPLATE_ADVICE, templatePath } from './templates.ts';

/** The fields that identify any object. */
export interface KubernetesObject extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An object, and its place in its document. */
export interface FoundObject {
  readonly object: KubernetesObject;
  readonly path: Path;
}

/**
 * The object of a document, or the items of a list.
 * @throws InputError for a document that is no Kubernetes object, or a template of one
 */
export function objectsOf(document: SourceDocument): FoundObject[] {
  const found = objectsIn(document);
  for (const { object, path } of found) {
    const template = templatePath(object);
    if (template) throw new InputError([`${document.locate([...path, ...template])}: ${TEMPLATE_ADVICE}`]);
  }
  return found;
}

function objectsIn(document: SourceDocument): FoundObject[] {
  const { value } = document;
  if (!isKubernetesObject(value)) {
    throw new InputError([`${document.locate([])}: expected a Kubernetes object with apiVersion and kind`]);
  }
  // A kind may end in List without being a list of Kubernetes.
  if (!value.kind.endsWith('List') || value.items === undefined) return [{ object: value, path: [] }];
  // Go also writes an empty list as null.
  if (value.items === null) return [];
  if (!Array.isArray(value.items)) throw new InputError([`${document.locate(['items'])}: expected a list of items`]);
  // Items of a NodeList from the API server have no apiVersion and kind.
  const inherited =
    value.kind === 'List' ? {} : { apiVersion: value.apiVersion, kind: value.kind.slice(0, -'List'.length) };
  return value.items.map((item, index) => {
    const path = ['items', index];
    const object = isMapping(item) ? { ...inherited, ...item } : item;
    if (!isKubernetesObject(object)) {
      throw new InputError([`${document.locate(path)}: expected a Kubernetes object with apiVersion and kind`]);
    }
    return { object, path };
  });
}

function isKubernetesObject(value: unknown): value is KubernetesObject {
  return isMapping(value) && typeof value.apiVersion === 'string' && typeof value.kind === 'string';
}

/** Whether the object is of this kind, which may be served in other versions, too. */
export function isKind(object: KubernetesObject, apiVersion: string, kind: string): boolean {
  return object.apiVersion === apiVersion && object.kind === kind;
}

/**
 * The results of `read` for the Nodes of a document, which must have names.
 * @throws InputError, with the location in the document
 */
export function nodesOf<T extends { readonly name: string }>(
  document: SourceDocument,
  read: (object: KubernetesObject, path: Path) => T,
): T[] {
  return objectsOf(document)
    .filter(({ object }) => isKind(object, 'v1', 'Node'))
    .map(({ object, path }) => readNamed(document, path, () => read(object, path)));
}

/**
 * The result of `read` for an object of the document, which must have a name.
 * @throws InputError, with the location in the document
 */
export function readNamed<T extends { readonly name: string }>(document: SourceDocument, path: Path, read: () => T): T {
  try {
    const found = read();
    if (found.name === '') throw new MalformedObjectError([...path, 'metadata', 'name'], 'expected a name');
    return found;
  } catch (error) {
    if (!(error instanceof MalformedObjectError)) throw error;
    throw new InputError([`${document.locate(error.path)}: ${error.message}`]);
  }
}
