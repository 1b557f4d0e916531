import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration, type Toleration } from '../kubernetes/toleration.ts';
import { ADDED_ANNOTATION, addedTolerations } from './added-tolerations.ts';
import { ALLOW_REMOVAL_ANNOTATION } from './allow-removal.ts';
import { STARTUP_BOOT_ANNOTATION } from './node-boot.ts';

/** The annotations that taintkeeper, and users who allow a removal, write on Nodes. `taintkeeper cleanup` removes them. */
const NODE_ANNOTATIONS = [ALLOW_REMOVAL_ANNOTATION, STARTUP_BOOT_ANNOTATION];

/** An annotation that remains after taintkeeper is uninstalled. */
export interface LeftAnnotation {
  readonly name: string;
  readonly value: string;
}

/** What remains on a Node or on a DaemonSet. Nothing if both lists are empty. */
export interface LeftBehind {
  readonly annotations: readonly LeftAnnotation[];
  /** The indexes, in order, of the tolerations of the pod template that the leader appended while the DaemonSet ran. */
  readonly tolerationIndexes: readonly number[];
}

export function leftOnNode(annotations: StringMap): LeftBehind {
  return { annotations: pick(annotations, NODE_ANNOTATIONS), tolerationIndexes: [] };
}

/** The listed tolerations that the DaemonSet still has. If several are equal, the leader appended the last one. */
export function leftOnDaemonSet(annotations: StringMap, tolerations: readonly Toleration[]): LeftBehind {
  const texts = tolerations.map(formatToleration);
  const indexes = [...new Set(addedTolerations(annotations))].map((text) => texts.lastIndexOf(text));
  return {
    annotations: pick(annotations, [ADDED_ANNOTATION]),
    tolerationIndexes: indexes.filter((index) => index >= 0).sort((a, b) => a - b),
  };
}

function pick(annotations: StringMap, names: readonly string[]): LeftAnnotation[] {
  return names.flatMap((name) => {
    const value = ownValue(annotations, name);
    return value === undefined ? [] : [{ name, value }];
  });
}
