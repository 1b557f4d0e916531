import type { Taint } from '../../test/e2e/nodes.ts';
import { annotations, features, status, TAINT } from '../large-node.ts';

/** So many different sets of labels, annotations and images there are; nodes share them, so that 20,000 take little memory. */
const VARIANTS = 64;
/** The label by which policies tell pools apart. */
export const POOL_LABEL = 'example.com/pool';

/** What a request can change of a node. Immutable: the events of a watch show each version as it was. */
export interface NodeState {
  readonly revision: number;
  readonly taints: readonly Taint[];
  /** Those besides what agents note. */
  readonly annotations: Readonly<Record<string, string>>;
  /** When its kubelet last reported. */
  readonly beat: string;
}

/** What is the same for all nodes of a variant, as JSON without the outer braces. */
interface Variant {
  readonly labels: string;
  readonly annotations: string;
  readonly managedFields: string;
  /** The status, in pieces: the time of the last heartbeat goes between them. */
  readonly status: readonly string[];
}

/** Nodes as JSON of 40 KB each, made when somebody asks. */
export interface SimulatedNodes {
  nameOf(index: number): string;
  indexOf(name: string): number | undefined;
  /** @param index of the node; it decides the pool */
  text(index: number, state: NodeState): string;
}

/** @param pools how many pools there are: node n is in pool n modulo that */
export function simulateNodes(count: number, pools: number): SimulatedNodes {
  const variants = Array.from({ length: VARIANTS }, (_, n) => variantOf(n));
  const nameOf = (index: number) => `worker-${index}.bench.example.com`;

  return {
    nameOf,
    indexOf(name) {
      const index = Number(/^worker-(\d+)\.bench\.example\.com$/.exec(name)?.[1]);
      return index < count ? index : undefined;
    },
    text(index, { revision, taints, annotations: own, beat }) {
      const variant = variants[index % VARIANTS] as Variant;
      const name = nameOf(index);
      const notes = JSON.stringify(own).slice(1, -1);
      return (
        `{"kind":"Node","apiVersion":"v1","metadata":{"name":"${name}","uid":"${uidOf(index)}",` +
        `"resourceVersion":"${revision}","creationTimestamp":"2026-01-01T00:00:00Z",` +
        `"labels":{"${POOL_LABEL}":"pool-${index % pools}","kubernetes.io/hostname":"${name}",${variant.labels}},` +
        `"annotations":{${notes}${notes && ','}${variant.annotations}},"managedFields":${variant.managedFields}},` +
        `"spec":{"podCIDR":"10.${index >> 8}.${index & 255}.0/24","taints":${JSON.stringify(taints)}},` +
        `"status":${variant.status.join(beat)}}`
      );
    },
  };
}

/** The taint that nodes of the pool are to have. */
export const taintOf = (pool: number): Taint => ({ ...TAINT, key: `example.com/dedicated-${pool}` });

const uidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function variantOf(number: number): Variant {
  const [labels, notes] = [features(number), annotations(number)];
  const reported = status(number);
  const time = reported.conditions[0]?.lastHeartbeatTime ?? '';
  const inner = (value: object) => JSON.stringify(value).slice(1, -1);
  const owned = (field: string, keys: readonly string[]) => ({
    'f:metadata': { [field]: Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
  });
  const writer = (manager: string, fieldsV1: object) => ({
    ...{ manager, operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1' },
    fieldsV1,
  });
  return {
    labels: inner(labels),
    annotations: inner(notes),
    managedFields: JSON.stringify([
      writer('nfd-master', owned('f:labels', Object.keys(labels))),
      writer('agents', owned('f:annotations', Object.keys(notes))),
      writer('kubelet', { 'f:spec': { 'f:taints': {} }, 'f:status': { 'f:conditions': {}, 'f:images': {} } }),
    ]),
    status: JSON.stringify(reported).split(time),
  };
}
