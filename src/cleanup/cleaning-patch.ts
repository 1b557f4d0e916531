import { jsonPointer, type Operation } from '../kubernetes/json-patch.ts';
import { TOLERATIONS_POINTER } from '../kubernetes/toleration.ts';
import { type LeftOnNode, type Leftover, removableIndexes } from './leftover.ts';

/**
 * The JSON patch (RFC 6902) that removes what is left, and fails if that has changed. Other changes of the object, which are frequent on nodes, do not
 * matter.
 */
export function cleaningPatch(leftover: Leftover, removesTolerations: boolean): Operation[] {
  const annotations = annotationRemovals(leftover);
  if (leftover.resource === 'nodes') return [...startupTaintRemoval(leftover), ...annotations];
  const removable = removesTolerations ? removableIndexes(leftover) : [];
  if (removable.length === 0) return annotations;
  return [
    // Whether tolerations stay depends on more than the list.
    { op: 'test', path: '/metadata/resourceVersion', value: leftover.resourceVersion },
    ...annotations,
    ...tolerationRemovals(removable),
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
function tolerationRemovals(indexes: readonly number[]): Operation[] {
  return indexes.toReversed().map((index): Operation => ({ op: 'remove', path: `${TOLERATIONS_POINTER}/${index}` }));
}
