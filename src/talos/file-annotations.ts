import type { SourceDocument } from '../files/documents.ts';
import { isQualifiedName } from '../kubernetes/names.ts';
import { entriesAt, kindOf } from './document-values.ts';
import { type Malformed, malformed } from './field-location.ts';
import { OWNED_ANNOTATIONS, OWNED_LABELS, OWNED_TAINTS } from './owned-annotations.ts';

/** Annotations that only Talos may write. */
const RESERVED_ANNOTATIONS: readonly string[] = [OWNED_ANNOTATIONS, OWNED_LABELS, OWNED_TAINTS];

/** The node annotations of one document that Talos refuses (ValidateAnnotations of its pkg/machinery/labels). */
export function malformedAnnotations(document: SourceDocument): Malformed[] {
  const kind = kindOf(document);
  const path =
    kind === undefined ? ['machine', 'nodeAnnotations'] : kind === 'KubeNodeConfig' ? ['annotations'] : undefined;
  return (path ? entriesAt(document, path) : []).flatMap(([key]) => {
    const at = { document, path: [...(path ?? []), key] };
    if (!isQualifiedName(key)) return [malformed(at, `"${key}" is no annotation key`, 'NAME or DOMAIN/NAME')];
    return RESERVED_ANNOTATIONS.includes(key)
      ? [malformed(at, `${key} is for Talos to set`, 'another annotation')]
      : [];
  });
}
