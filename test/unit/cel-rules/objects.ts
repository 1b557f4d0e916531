import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import { IGNORE_ANNOTATION } from '../../../src/judge/daemon-set-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { DaemonSetState, NodeState } from './scenarios.ts';

/** A Node or a DaemonSet of a scenario. */
export interface GeneratedObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The node in that state. What `live` has besides stays. */
export function nodeObject(name: string, state: NodeState, live?: GeneratedObject): GeneratedObject {
  const { labels, taints, allowRemoval } = state;
  const annotations = allowRemoval === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval };
  return replaced(live, { name, labels, annotations }, { ...live?.spec, taints });
}

const DELETED_AT = '2026-01-01T00:00:00Z';

/** How an object is named, or its name is to begin. */
export type Identity = { readonly name: string } | { readonly generateName: string };

/** The DaemonSet in that state. What `live` has besides its spec stays. */
export function daemonSetObject(identity: Identity, state: DaemonSetState, live?: GeneratedObject): GeneratedObject {
  const { labels, tolerations, ignore, image, hostNetwork, deleting } = state;
  const selector = { app: 'a' };
  const annotations = ignore === undefined ? {} : { [IGNORE_ANNOTATION]: ignore };
  const template = {
    metadata: { labels: selector },
    spec: { containers: [{ name: 'c', image }], hostNetwork, tolerations },
  };
  const metadata = { ...identity, labels, annotations, ...(deleting ? { deletionTimestamp: DELETED_AT } : {}) };
  return replaced(live, metadata, { selector: { matchLabels: selector }, template });
}

function replaced(live: GeneratedObject | undefined, metadata: object, spec: GeneratedObject['spec']): GeneratedObject {
  return { ...live, metadata: { ...live?.metadata, ...metadata }, spec };
}

/** The taints of a node. */
export function taintsOf(node: unknown): readonly Taint[] {
  const { spec } = (node ?? {}) as { readonly spec?: { readonly taints?: readonly Taint[] } };
  return spec?.taints ?? [];
}

/** The tolerations of a DaemonSet's pods, without empty fields, which the API server leaves out. */
export function tolerationsOf(daemonSet: unknown): object[] {
  const { spec } = daemonSet as { readonly spec?: { readonly template?: { readonly spec: PodTolerations } } };
  return (spec?.template?.spec.tolerations ?? []).map(withoutEmpty);
}

interface PodTolerations {
  readonly tolerations?: readonly object[];
}

export function withoutEmpty(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== ''));
}
