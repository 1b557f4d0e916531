import { TOLERATOR_KINDS, type Tolerator } from '../judge/tolerator.ts';
import { isMirrorPod } from '../objects/pod-object.ts';
import { TOLERATOR_API_VERSIONS, viewTolerator } from '../objects/workload-object.ts';
import type { SourceDocument } from './documents.ts';
import { isKind, objectsOf, readNamed } from './kubernetes-objects.ts';

/**
 * The workloads of a document, except static pods.
 * @param namespace of objects that name none
 * @throws InputError
 */
export function toleratorsIn(document: SourceDocument, namespace: string): Tolerator[] {
  return objectsOf(document).flatMap(({ object, path }) => {
    const kind = TOLERATOR_KINDS.find((one) => isKind(object, TOLERATOR_API_VERSIONS[one], one));
    if (!kind) return [];
    const tolerator = readNamed(document, path, () => viewTolerator(kind, object, path, namespace));
    return isMirrorPod(object, path) ? [] : [tolerator];
  });
}
