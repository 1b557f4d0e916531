import { allow, type Decision, type Phase, patch } from './decision.ts';
import type { StringMap } from './label-selector.ts';
import { holdOn, NONE_SETTLED, remember } from './memory.ts';
import { judgeNodeUpdate } from './node-update.ts';
import type { CompiledTaintPolicy, PolicySet, Requester } from './policy-set.ts';
import { presentTaints, satisfies, type Want } from './present-taints.ts';
import { formatTaint, identity, type Taint, valuesOf, withTaints } from './taint.ts';
import { taintViolation } from './taint-violation.ts';

/** What the policies look at in a Node. */
export interface NodeView {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** The annotation {@link RELEASE_ANNOTATION}, if there is one. */
  readonly release: string | undefined;
  /** The annotation {@link REMEMBERED_ANNOTATION}, if there is one. */
  readonly remembered: string | undefined;
  /** The annotation {@link REMOVED_ANNOTATION}, if there is one. */
  readonly removed?: string | undefined;
  /**
   * How many bytes the values of those two annotations may have together, by what the API server allows all annotations. Absent
   * where that is not known. Whoever may write the node can fill it, and no taint must depend on that.
   */
  readonly room?: number;
  /** The annotation {@link RESTORED_ANNOTATION}, if there is one. */
  readonly restored?: string | undefined;
}

/** What mutation makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode {
  readonly taints: readonly Taint[];
  readonly release: string | undefined;
  readonly remembered: string | undefined;
  readonly removed: string | undefined;
  readonly restored: string | undefined;
}

interface Request {
  readonly phase: Phase;
  readonly requester: Requester;
  readonly node: NodeView;
}

export interface NodeUpdate extends Request {
  readonly operation: 'UPDATE';
  readonly oldNode: NodeView;
}

export interface NodeCreation extends Request {
  readonly operation: 'CREATE';
}

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
      lacking.map((want) =>
        taintViolation(want.policy, want.field, want.taint, want.policy.mode === 'Audit' ? 'audited' : 'missing'),
      ),
      lacking.map(({ taint, policy }) => {
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

function binds({ policy }: Want): boolean {
  return policy.mode !== 'Audit';
}
