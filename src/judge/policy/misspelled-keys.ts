import { isPattern } from '../../kubernetes/pattern.ts';
import { requirementsOf } from '../../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy, UntilReadyTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import type { KeyKind, NodeKeys } from './node-keys.ts';
import { type AgedNode, isPastStartup } from './past-startup.ts';

/** The most keys of a policy that are compared. A longer list was probably written by a program. */
const MAX_COMPARED = 32;

/** A key that a policy names. */
interface NamedKey {
  /** For example `spec.taints[0].key`. */
  readonly field: string;
  readonly key: string;
  readonly of: KeyKind;
  /** The startup taint that waits for the condition or the resource. */
  readonly rule?: UntilReadyTaint;
}

/** A key of a policy that looks misspelled: no node has it, and nodes have one that is almost the same. */
interface Misspelling extends NamedKey {
  /** What it probably should be. */
  readonly meant: string;
}

/**
 * The keys of the policy that look misspelled, in words. Conditions and resources count only if a node of the policy {@link isPastStartup}: the first node
 * with them may not exist yet, or not be ready.
 * @param selected the nodes of the policy
 */
export function misspelledKeys(
  policy: CompiledTaintPolicy,
  nodes: NodeKeys,
  selected: readonly AgedNode[],
  now: Date,
): string[] {
  return misspellingsIn(policy, nodes)
    .filter(({ rule }) => rule === undefined || selected.some((node) => isPastStartup(node, rule, now)))
    .map(
      ({ field, key, meant, of }) =>
        `${field}: ${of === 'taint' ? 'no node carries a taint' : `no node has ${of}`} ${key}; did you mean ${meant}?`,
    );
}

export function misspellingsIn(policy: CompiledTaintPolicy, nodes: NodeKeys): Misspelling[] {
  const { protectionRules, nodeSelector } = policy;
  // With NotIn or DoesNotExist, it is correct that no node has the label.
  const labels = requirementsOf(nodeSelector).filter(({ operator }) => operator === 'In' || operator === 'Exists');
  // A required taint comes from the policy itself.
  const exact = protectionRules.filter(({ key, ensure }) => !isPattern(key) && ensure !== 'Always');
  const named: readonly NamedKey[] = [
    ...labels.map(({ key }) => ({ field: 'spec.nodeSelector', key, of: 'label' as const })),
    ...exact.map(({ key, field }) => ({ field: `${field}.key`, key, of: 'taint' as const })),
  ];
  return [...named.slice(0, MAX_COMPARED), ...awaitedKeys(policy)].flatMap((one) => {
    const meant = nodes[one.of].meantBy(one.key);
    return meant === undefined ? [] : [{ ...one, meant }];
  });
}

/** The conditions and the resources of `readyWhen` that no node has and that do not look misspelled, in words. The first node with them may not exist yet. */
export function unseenKeys(policy: CompiledTaintPolicy, nodes: NodeKeys): string[] {
  return awaitedKeys(policy)
    .filter(({ key, of }) => nodes[of].lacks(key) && nodes[of].meantBy(key) === undefined)
    .map(({ key, of, rule }) => `no node has ${of} ${key} yet, for which ${rule.field} waits`);
}

function awaitedKeys(policy: CompiledTaintPolicy): (NamedKey & { readonly rule: UntilReadyTaint })[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  const all = policy.untilReady.flatMap((rule) =>
    [
      ...rule.parts.conditions.map(({ type }, index) => ['condition', type, `conditions[${index}].type`] as const),
      ...rule.parts.allocatable.map(
        ({ resource }, index) => ['resource', resource, `allocatable[${index}].resource`] as const,
      ),
    ].map(([of, key, field]) => ({ of, key, field: `${rule.field}.readyWhen.${field}`, rule })),
  );
  return all.slice(0, MAX_COMPARED);
}
