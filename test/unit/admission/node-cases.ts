import fc from 'fast-check';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { asNode, viewNode } from '../../../src/objects/node-object.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
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
  user: { username: string; groups: string[] };
  policies: Record<string, TaintPolicySpec>;
};

export const nodeUpdate = generate.nodeState.chain((before) =>
  fc.record({
    before: fc.constant(before),
    after: generate.nodeState,
    user: generate.requester,
    policies: generate.taintPolicies,
  }),
);
export const nodeCreation = nodeUpdate.map((update): NodeCase => ({ ...update, before: undefined }));

export const toNodeCase = ({ before, after, user, policies }: NodeCase, options?: { audit: boolean }) => ({
  request: nodeRequest({ object: nodeObject(after), ...(before ? { oldObject: nodeObject(before) } : {}), user }),
  compiled: policySet({ taint: policies }, options),
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
