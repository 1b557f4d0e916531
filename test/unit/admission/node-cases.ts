import fc from 'fast-check';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import type { NodeRecord } from '../../../src/judge/node-record.ts';
import { formatTaint, identity, type Taint } from '../../../src/kubernetes/taint.ts';
import { asNode, viewNode } from '../../../src/objects/node-object.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { recordedTaints, recordListing } from '../judge/established.ts';
import { policySet } from '../policy/policies.ts';
import * as generate from './generators.ts';
import { nodeRequest } from './requests.ts';

export type NodeState = {
  labels: Record<string, string>;
  taints: readonly Taint[];
  allowRemoval: string | undefined;
};

export interface NodeObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly [field: string]: unknown };
  readonly spec: { readonly taints?: readonly Taint[]; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A Node with other fields around those that matter, and without the ones that are empty: as the API server sends it. */
export function nodeObject({ labels, taints, allowRemoval }: NodeState): NodeObject {
  const annotations = {
    ...(allowRemoval === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval, other: 'kept' }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      uid: 'u1',
      labels,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    spec: { podCIDR: '10.0.0.0/24', ...(taints.length > 0 ? { taints } : {}) },
    status: { images: [{ names: ['a'] }] },
  };
}

export type NodeCase = {
  before: NodeState | undefined;
  after: NodeState;
  /** What the record of the node lists. */
  record: NodeRecord;
  user: { username: string; groups: string[] };
  policies: Record<string, TaintPolicySpec>;
};

/** Records often list what the node carried before, and now and then anything: what it has lost, and what was removed with permission. */
const recordOf = (before: NodeState) =>
  fc.record({ isOfNode: fc.boolean(), kept: generate.taints, removed: generate.taints }).map((one): NodeRecord => {
    const kept = one.isOfNode ? before.taints : one.kept;
    const isKept = new Set(kept.map(identity));
    const textOf = (taints: readonly Taint[]) => taints.map(formatTaint).join();
    const removed = one.removed.filter((taint) => !isKept.has(identity(taint)));
    const taints = [...recordedTaints(textOf(kept)), ...recordedTaints(textOf(removed), { removedAt: 0 })];
    return { ...recordListing(undefined), taints };
  });

export const nodeUpdate = generate.nodeState.chain((before) =>
  fc.record({
    before: fc.constant(before),
    after: generate.nodeState,
    record: recordOf(before),
    user: generate.requester,
    policies: generate.taintPolicies,
  }),
);
export const nodeCreation = nodeUpdate.map((update): NodeCase => ({ ...update, before: undefined }));

export const toNodeCase = ({ before, after, record, user, policies }: NodeCase, options?: { audit: boolean }) => ({
  request: nodeRequest({ object: nodeObject(after), ...(before ? { oldObject: nodeObject(before) } : {}), user }),
  compiled: policySet({ taint: policies }, options),
  records: { recordOf: () => (before ? record : undefined), now: () => 0 },
});

export const viewOf = (object: unknown) => viewNode(asNode(object, []), '');

/** Updates and creations. */
export const nodeCases: fc.Arbitrary<NodeCase> = fc.oneof(nodeUpdate, nodeCreation);

/** A Node without what mutation may change. A map of annotations without any others is as good as none. */
export function rest({
  metadata: { annotations = {}, ...metadata },
  spec: { taints: _, ...spec },
  ...others
}: NodeObject): object {
  const { [ALLOW_REMOVAL_ANNOTATION]: _allowRemoval, ...kept } = annotations;
  return { ...others, metadata: { ...metadata, annotations: kept }, spec };
}
