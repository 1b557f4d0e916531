import { settledOn } from '../judge/memory.ts';
import { type Hindrance, type Loss, nodeDrift } from '../judge/node-drift.ts';
import type { NodeView } from '../judge/node-view.ts';
import { type StringMap, selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { Policy, TaintPolicy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';

/** Whether a TaintPolicy is for a node. */
export interface PolicyOnNode {
  readonly policy: string;
  readonly mode: TaintMode;
  /** What of its node selector the labels do not meet, such as `pool=gpu`; empty where it selects the node. */
  readonly unmet: readonly string[];
}

/** How a taint stands on a node. */
export type TaintState =
  /** Carried, and no policy has a say in it. */
  | 'free'
  /** Carried, and held by a policy. */
  | 'protected'
  /** Carried, and held once it has settled: a key with a wildcard means it. */
  | 'settling'
  /** Not carried, though it should be. */
  | 'missing'
  /** Not carried, because somebody removed it whom the policy exempts. */
  | 'removed';

export interface TaintOnNode {
  readonly taint: Taint;
  readonly state: TaintState;
  /** The policies that have a say in it; for one that is missing, those that want it. */
  readonly by: readonly { readonly policy: string; readonly mode: TaintMode; readonly field: string }[];
  /** For a missing one: why it is not restored; undefined where it is, unless the leader has a reason of its own. */
  readonly hindrance?: Exclude<Hindrance, 'contested' | 'paced'> | undefined;
  /** For a missing one: the node carries the same key and effect with another value. */
  readonly otherValue?: boolean;
}

/** What the TaintPolicies say of one node. */
export interface NodeExplanation {
  /** Whether all policies were taken to be in mode Audit. */
  readonly audit: boolean;
  readonly policies: readonly PolicyOnNode[];
  readonly taints: readonly TaintOnNode[];
}

/**
 * Explains a node as it stands. What only the leader knows is not in it: who takes a taint away again and again, and whose turn it is to
 * get one that evicts pods.
 */
export function explainNode(
  node: NodeView,
  policies: readonly Policy[],
  { audit = false }: { readonly audit?: boolean } = {},
): NodeExplanation {
  const declared = policies.filter((policy) => policy.kind === 'TaintPolicy');
  const compiled = compilePolicies(declared, { audit }).taintPolicies;
  const selecting = compiled.filter((policy) => policy.selectsNode(node.labels));
  const isSettled = settledOn(node.remembered);
  const carried = node.taints.map((taint): TaintOnNode => {
    const by = selecting.flatMap((policy) => {
      const field = policy.protectedBy(taint);
      return field === undefined ? [] : [{ policy, field }];
    });
    const holding = by.filter(({ policy }) => policy.heldBy(taint, isSettled) !== undefined);
    const state = holding.length > 0 ? 'protected' : by.length > 0 ? 'settling' : 'free';
    return {
      taint,
      state,
      by: (holding.length > 0 ? holding : by).map(({ policy: { name, mode }, field }) => ({
        policy: name,
        mode,
        field,
      })),
    };
  });
  const { losses, removed } = nodeDrift(node, compiled);
  const present = valuesOf(node.taints);
  const groups = Map.groupBy(losses, ({ taint }) => formatTaint(taint));
  return {
    audit,
    policies: compiled.map(({ name, mode }) => ({ policy: name, mode, unmet: unmetBy(declared, name, node.labels) })),
    taints: [
      ...carried,
      ...[...groups.values()].map((group) => missing(group, present)),
      ...removed
        .filter(({ taint }) => !present.has(identity(taint)))
        .map(
          ({ taint, policy: { name, mode }, field }): TaintOnNode => ({
            taint,
            state: 'removed',
            by: [{ policy: name, mode, field }],
          }),
        ),
    ],
  };
}

function missing(losses: readonly Loss[], present: ReadonlyMap<string, string>): TaintOnNode {
  const [first] = losses;
  if (first === undefined) throw new Error('a group without a loss');
  const restored = losses.some(({ hindrance }) => hindrance === undefined);
  return {
    taint: first.taint,
    state: 'missing',
    by: losses.map(({ policy: { name, mode }, field }) => ({ policy: name, mode, field })),
    // The last two are the leader's to know: nobody told nodeDrift of them.
    hindrance: restored ? undefined : (first.hindrance as TaintOnNode['hindrance']),
    otherValue: present.has(identity(first.taint)),
  };
}

function unmetBy(policies: readonly TaintPolicy[], name: string, labels: StringMap): string[] {
  const selector = policies.find((policy) => policy.name === name)?.spec.nodeSelector;
  return requirementsOf(selector)
    .filter((requirement) => !selects({ matchExpressions: [requirement] }, labels))
    .map(formatRequirement);
}
