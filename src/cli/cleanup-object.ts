import type { Operation } from 'fast-json-patch';
import { type ClusterDaemonSet, type ClusterNode, projectDaemonSet, projectNode } from '../controllers/sources.ts';
import { type LeftBehind, leftOnDaemonSet, leftOnNode } from '../judge/daemon-set-repair.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import type { Toleration } from '../kubernetes/toleration.ts';

/** A Node or a DaemonSet, and what is left on it. */
export type Leftover = LeftOnNode | LeftOnDaemonSet;

interface LeftOnNode extends LeftBehind {
  readonly resource: 'nodes';
  readonly namespace?: undefined;
  readonly name: string;
  readonly value: ClusterNode;
}

export interface LeftOnDaemonSet extends LeftBehind {
  readonly resource: 'daemonsets';
  readonly namespace: string;
  readonly name: string;
  readonly value: ClusterDaemonSet;
}

/** @throws MalformedObjectError */
export function readNode(object: unknown): LeftOnNode {
  const value = projectNode(object);
  const { annotations } = (object as { metadata: { annotations?: StringMap } }).metadata;
  return { resource: 'nodes', name: value.name, value, ...leftOnNode(annotations ?? {}) };
}

/** @throws MalformedObjectError */
export function readDaemonSet(object: unknown): LeftOnDaemonSet {
  const value = projectDaemonSet(object);
  const { namespace, name, annotations, tolerations } = value;
  return { resource: 'daemonsets', namespace, name, value, ...leftOnDaemonSet(annotations, tolerations) };
}

/** `nodes/n1`, `daemonsets/kube-system/flannel` */
export function titleOf({ resource, namespace, name }: Leftover): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}

/** The tolerations that were added, and are still there. */
export function addedTo(leftover: Leftover): Toleration[] {
  if (leftover.resource === 'nodes') return [];
  const { value, tolerations } = leftover;
  return value.tolerations.filter((_, place) => tolerations.includes(place));
}

/**
 * The JSON patch (RFC 6902) that takes it away, and is refused where that is no longer what stands there. An object may change
 * otherwise meanwhile: nodes do so all the time.
 */
export function cleaningPatch(leftover: Leftover, withTolerations: boolean): Operation[] {
  const annotations = leftover.annotations.flatMap(({ name, value }): Operation[] => {
    const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return [
      { op: 'test', path, value },
      { op: 'remove', path },
    ];
  });
  if (!withTolerations || leftover.resource === 'nodes' || leftover.tolerations.length === 0) return annotations;
  const list = '/spec/template/spec/tolerations';
  return [
    { op: 'test', path: list, value: leftover.value.tolerations },
    ...annotations,
    // From the end, so that the places before stay what they are.
    ...leftover.tolerations.toReversed().map((place): Operation => ({ op: 'remove', path: `${list}/${place}` })),
  ];
}
