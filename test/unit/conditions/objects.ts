import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import { recordAnnotations } from './records-of-generated-nodes.ts';
import { DAEMON_SET_PLACES, type DaemonSetState, type NodeState } from './scenarios.ts';

/** A Node or a DaemonSet of a scenario. */
export interface GeneratedObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

export function placeOf(index: number) {
  const place = DAEMON_SET_PLACES[index];
  if (!place) throw new Error(`there is no place ${index} for DaemonSets`);
  return place;
}

/** The node in that state. What `live` has besides stays. */
export function nodeObject(name: string, state: NodeState, live?: GeneratedObject): GeneratedObject {
  const { labels, taints, allowRemoval } = state;
  return {
    ...live,
    metadata: {
      ...live?.metadata,
      name,
      labels,
      annotations: {
        ...(allowRemoval === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval }),
        ...recordAnnotations(state),
      },
    },
    spec: { ...live?.spec, taints },
  };
}

/** The DaemonSet in that state. What `live` has besides its spec stays. */
export function daemonSetObject(name: string, state: DaemonSetState, live?: GeneratedObject): GeneratedObject {
  const { labels, tolerations, ignore, image, hostNetwork } = state;
  const selector = { app: 'a' };
  return {
    ...live,
    metadata: {
      ...live?.metadata,
      name,
      labels,
      annotations: ignore === undefined ? {} : { 'taintkeeper.dev/ignore': ignore },
    },
    spec: {
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: { containers: [{ name: 'c', image }], hostNetwork, tolerations },
      },
    },
  };
}
