import { sameTaint, type Taint, taintIdentity, valuesOf, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { keepsOff, parseAllowedRemovals } from './allow-removal.ts';
import {
  type DeclaredTaint,
  isDeclaredTaint,
  missingRequired,
  requiredTaints,
  taintsToSet,
} from './declared-taints.ts';
import type { BlockedBy, MissingTaint } from './missing-taint.ts';
import type { NodeView } from './node-view.ts';

/** How a node differs from what the policies require, whichever writer caused it. */
export interface NodeDrift {
  readonly missing: readonly MissingTaint[];
  /** The required taints that an entry of the annotation `allow-removal` keeps off. They do not count as missing. */
  readonly keptOff: readonly DeclaredTaint[];
  /** The taints that the node should carry. The same list object as the node's if nothing is set. */
  readonly taints: readonly Taint[];
}

/**
 * Compares a node with the taints that policies require of it.
 *
 * @param policies the strongest mode first, as a PolicySet has them. Those that do not select the node count for the value that it carries
 * @param isInConflict whether another writer removes the taint repeatedly, so that it is not set; by default, no writer does
 */
export function nodeDrift(
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  isInConflict: (taint: Taint) => boolean = () => false,
): NodeDrift {
  const absent = missingRequired(node, policies);
  if (absent.length === 0) return { missing: [], keptOff: [], taints: node.taints };
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const isOff = (one: DeclaredTaint) => one.policy.allowsRemovalByAnnotation && keepsOff(allowed, one);
  const groups = [
    ...Map.groupBy(
      absent.filter((one) => !isOff(one)),
      ({ taint }) => taintIdentity(taint),
    ).values(),
  ];
  const valueByTaint = valuesOf(node.taints);
  const judged = groups.flatMap((group) => {
    const [target] = [...taintsToSet(group.filter(({ policy }) => isEnforced(policy))), ...group];
    return target ? [{ group, target: target.taint, blockedBy: whatBlocks(group, target.taint) }] : [];
  });
  const set = judged.filter(({ blockedBy }) => blockedBy === undefined).map(({ target }) => target);
  return {
    missing: judged.flatMap(({ group, target, blockedBy }) => missingTaintsOf(group, target, blockedBy)),
    keptOff: absent.filter(isOff),
    taints: set.length === 0 ? node.taints : withTaints(node.taints, set),
  };

  function whatBlocks(group: readonly DeclaredTaint[], target: Taint): BlockedBy | undefined {
    const enforcing = group.filter(({ policy }) => isEnforced(policy));
    if (enforcing.length === 0) return 'ModeDoesNotRestore';
    if (valuesRequiredOf(target) > 1) return 'ValuesDiffer';
    const present = valueByTaint.get(taintIdentity(target));
    if (present !== undefined && keepersOf({ ...target, value: present }, node, policies, group).length > 0)
      return 'OtherValuePresent';
    if (isInConflict(target)) return 'Conflict';
    return target.effect === 'NoExecute' ? 'WouldEvictPods' : undefined;
  }

  /** How many values of the taint enforced policies require on the node. */
  function valuesRequiredOf(taint: Taint): number {
    const required = requiredTaints(node.labels, policies).filter(
      (one) => isEnforced(one.policy) && !one.anyValue && taintIdentity(one.taint) === taintIdentity(taint),
    );
    return new Set(required.map((one) => one.taint.value)).size;
  }
}

/**
 * The policies for which the leader leaves a value of a taint on the node. Those that do not select the node count as well: kubelets and users of
 * `nodes/status` may change labels but no taints, and must not have the leader give a node of one pool the taint of another.
 *
 * @param carried with the value that the node carries
 * @param missing the missing taints of the node: a policy that requires another value of this one does not keep it
 */
export function keepersOf(
  carried: Taint,
  { labels }: Pick<NodeView, 'labels'>,
  policies: readonly CompiledTaintPolicy[],
  missing: readonly Pick<MissingTaint, 'policy' | 'taint'>[],
): CompiledTaintPolicy[] {
  const requiring = new Set(missing.filter(({ taint }) => sameTaint(taint, carried)).map(({ policy }) => policy));
  return policies.filter(
    (policy) =>
      isEnforced(policy) &&
      !requiring.has(policy) &&
      (policy.protectingRule(carried) !== undefined ||
        (policy.startup.some((one) => isDeclaredTaint(carried, one)) && !policy.selectsNode(labels))),
  );
}

/** How a policy keeps the value of a taint that a node carries. */
export type Keeping = 'Protects' | 'ProtectsOnOtherNodes' | 'SetsOnOtherNodes';

/** @param policy one of {@link keepersOf} */
export function keepingOf(
  policy: CompiledTaintPolicy,
  carried: Taint,
  { labels }: Pick<NodeView, 'labels'>,
): { readonly keeping: Keeping; readonly field: string } {
  const rule = policy.protectingRule(carried);
  const declared = policy.ensured.find((one) => (!rule || !one.anyValue) && isDeclaredTaint(carried, one));
  if (rule && policy.selectsNode(labels)) return { keeping: 'Protects', field: rule.field };
  if (declared) return { keeping: 'SetsOnOtherNodes', field: declared.field };
  return { keeping: 'ProtectsOnOtherNodes', field: rule?.field ?? 'spec' };
}

/** The missing taint for each policy to report. A policy that only reports has none if the node is about to get the taint that it requires. */
function missingTaintsOf(
  group: readonly DeclaredTaint[],
  target: Taint,
  blockedBy: BlockedBy | undefined,
): MissingTaint[] {
  return group.flatMap((one): MissingTaint[] => {
    const { policy, field, taint } = one;
    if (blockedBy !== undefined) return [{ policy, field, taint, blockedBy }];
    if (isEnforced(one.policy)) return [{ policy, field, taint: target, blockedBy }];
    return isDeclaredTaint(target, one) ? [] : [{ policy, field, taint, blockedBy: 'ModeDoesNotRestore' }];
  });
}
