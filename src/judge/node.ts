import { formatTaint, identity, valuesOf, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, PolicySet } from '../policy/policy-set.ts';
import { allow, type Decision, type Outcome, patch, taintViolation } from './decision.ts';
import { holdOn, NONE_SETTLED, remember } from './memory.ts';
import { judgeNodeUpdate } from './node-update.ts';
import type { DesiredNode, NodeCreation, NodeUpdate } from './node-view.ts';
import { type DeclaredTaint, presentTaints, satisfies } from './removal.ts';

/** Judges the creation or the update of a Node, in one of the two phases of admission. */
export function judgeNode(request: NodeCreation | NodeUpdate, { taintPolicies }: PolicySet): Decision<DesiredNode> {
  return request.operation === 'CREATE'
    ? judgeNodeCreation(request, taintPolicies)
    : judgeNodeUpdate(request, taintPolicies);
}

/**
 * A node that registers gets its Present taints, whatever the policy's mode but Audit, and whoever registers it: exemptions
 * are about removing taints. It is never refused: a node that cannot register costs more than one that lacks a taint.
 */
function judgeNodeCreation(
  { phase, node }: NodeCreation,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const present = valuesOf(node.taints);
  const wants = presentTaints(node.labels, policies);
  const lacking = wants.filter((want) => !satisfies(present, want));

  if (phase === 'validate') {
    return allow(
      lacking.map((want) => taintViolation(want.policy, want.field, want.taint, outcomeOf(want))),
      lacking.map((want) => {
        const { taint, policy } = want;
        if (outcomeOf(want) === 'would-add')
          return `TaintPolicy ${policy.name} would add taint ${formatTaint(taint)} (--audit)`;
        const mode = policy.mode === 'Audit' ? ', Audit' : '';
        return `TaintPolicy ${policy.name}${mode}: the node lacks taint ${formatTaint(taint)}`;
      }),
    );
  }

  // Where policies name different values for one taint, the first one counts: they come with the strongest mode first.
  const named = new Map(
    wants
      .filter((want) => binds(want) && !want.anyValue)
      .toReversed()
      .map((want) => [identity(want.taint), want]),
  );
  const additions = lacking
    .filter(binds)
    .map((want) => named.get(identity(want.taint)) ?? want)
    .filter((want) => !satisfies(present, want));
  const taints = withTaints(
    node.taints,
    additions.map(({ taint }) => taint),
  );
  // Whatever a new node says of itself, it has carried nothing yet, nor has anything been removed. Policies in Audit have no say in that.
  const isOnlyWatched = policies.every(({ mode }) => mode === 'Audit');
  const removed = isOnlyWatched ? node.removed : undefined;
  const remembered = isOnlyWatched
    ? node.remembered
    : remember({
        before: undefined,
        carried: taints,
        protects: holdOn(node.labels, policies, NONE_SETTLED),
        room: node.room,
      });
  if (additions.length === 0 && remembered === node.remembered && removed === node.removed) return allow();

  const values = valuesOf(taints);
  const added = lacking.filter((want) => binds(want) && satisfies(values, want));
  return patch(
    { taints, release: node.release, remembered, removed, restored: node.restored },
    added.map((want) => taintViolation(want.policy, want.field, want.taint, 'added')),
    added.map(({ taint, policy }) => `TaintPolicy ${policy.name} added taint ${formatTaint(taint)}`),
  );
}

/** What is said of a taint that the node still lacks once mutation is over. */
function outcomeOf({ policy, field }: DeclaredTaint): Outcome {
  if (policy.mode !== 'Audit') return 'missing';
  return policy.trial(field) === 'Audit' ? 'audited' : 'would-add';
}

function binds({ policy }: DeclaredTaint): boolean {
  return policy.mode !== 'Audit';
}
