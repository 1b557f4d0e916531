import { jsonPointer, type Operation } from '../kubernetes/json-patch.ts';
import { TOLERATIONS_POINTER } from '../kubernetes/toleration.ts';
import type { LeftOnDaemonSet, LeftOnNode, Leftover } from './leftover.ts';

/**
 * The JSON patch (RFC 6902) that removes what is left, and fails if that has changed. Other changes of the object, which are frequent on nodes, do not
 * matter.
 */
export function cleaningPatch(leftover: Leftover, removesTolerations: boolean): Operation[] {
  const annotations = annotationRemovals(leftover);
  if (leftover.resource === 'nodes') return [...startupTaintRemoval(leftover), ...annotations];
  if (!removesTolerations || leftover.tolerationIndexes.length === 0) return annotations;
  return [
    { op: 'test', path: TOLERATIONS_POINTER, value: leftover.value.tolerations },
    ...annotations,
    ...tolerationRemovals(leftover),
  ];
}

function annotationRemovals({ annotations }: Leftover): Operation[] {
  return annotations.flatMap(({ name, value }): Operation[] => {
    const path = jsonPointer('metadata', 'annotations', name);
    return [
      { op: 'test', path, value },
      { op: 'remove', path },
    ];
  });
}

function startupTaintRemoval({ taints, startupTaints }: LeftOnNode): Operation[] {
  if (startupTaints.length === 0) return [];
  const path = '/spec/taints';
  return [
    { op: 'test', path, value: taints },
    { op: 'replace', path, value: taints.filter((taint) => !startupTaints.includes(taint)) },
  ];
}

/** From the end, so that earlier indexes stay valid. */
function tolerationRemovals({ tolerationIndexes }: LeftOnDaemonSet): Operation[] {
  return tolerationIndexes
    .toReversed()
    .map((index): Operation => ({ op: 'remove', path: `${TOLERATIONS_POINTER}/${index}` }));
}
