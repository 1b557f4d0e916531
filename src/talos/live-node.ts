import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { asNode } from '../objects/node-object.ts';
import type { Path } from '../policy/problem.ts';
import { OWNED_LABELS, OWNED_TAINTS } from './owned-annotations.ts';

/** The keys of an annotation in which Talos records what it has set. Undefined for an invalid list, at which Talos stops. */
export type OwnedKeys = ReadonlySet<string> | undefined;

/** The fields that are compared with a machine configuration. */
export interface LiveNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly ownedTaints: OwnedKeys;
  readonly ownedLabels: OwnedKeys;
}

/**
 * Reads the needed fields of parsed JSON for a Node. `path` is its place.
 * @throws MalformedObjectError
 */
export function asLiveNode(value: unknown, path: Path): LiveNode {
  const { metadata, spec } = asNode(value, path);
  const annotations = metadata.annotations ?? {};
  return {
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    ownedTaints: ownedKeys(ownValue(annotations, OWNED_TAINTS)),
    ownedLabels: ownedKeys(ownValue(annotations, OWNED_LABELS)),
  };
}

function ownedKeys(text: string | undefined): OwnedKeys {
  if (!text) return new Set();
  try {
    const keys: unknown = JSON.parse(text);
    // Go reads null as an empty list.
    if (keys === null) return new Set();
    return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? new Set(keys) : undefined;
  } catch {
    return undefined;
  }
}
