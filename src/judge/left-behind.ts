import { own, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration, type Toleration } from '../kubernetes/toleration.ts';
import { ADDED_ANNOTATION, addedTolerations } from './added-tolerations.ts';
import { ALLOW_REMOVAL_ANNOTATION } from './allow-removal.ts';
import { STARTUP_BOOT_ANNOTATION } from './node-boot.ts';

/** The annotations that taintkeeper writes on Nodes, and users who allow a removal. `taintkeeper cleanup` removes them. */
const NODE_ANNOTATIONS = [ALLOW_REMOVAL_ANNOTATION, STARTUP_BOOT_ANNOTATION];

/** An annotation that has outlived the installation that it was for. */
export interface LeftAnnotation {
  readonly name: string;
  readonly value: string;
}

/** What is left on a Node, or on a DaemonSet: nothing where both are empty. */
export interface LeftBehind {
  readonly annotations: readonly LeftAnnotation[];
  /** Of the pod template's tolerations, those that were appended while it ran: their places in the list, in its order. */
  readonly tolerations: readonly number[];
}

export function leftOnNode(annotations: StringMap): LeftBehind {
  return { annotations: pick(annotations, NODE_ANNOTATIONS), tolerations: [] };
}

/** What the record says was appended, as far as it is still there. Of several that read alike, the last one was. */
export function leftOnDaemonSet(annotations: StringMap, tolerations: readonly Toleration[]): LeftBehind {
  const texts = tolerations.map(formatToleration);
  const places = [...new Set(addedTolerations(annotations))].map((text) => texts.lastIndexOf(text));
  return {
    annotations: pick(annotations, [ADDED_ANNOTATION]),
    tolerations: places.filter((place) => place >= 0).sort((a, b) => a - b),
  };
}

function pick(annotations: StringMap, names: readonly string[]): LeftAnnotation[] {
  return names.flatMap((name) => {
    const value = own(annotations, name);
    return value === undefined ? [] : [{ name, value }];
  });
}
