import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { Violation } from './decision.ts';
import { taintViolation } from './decision.ts';
import { settledOn } from './memory.ts';
import type { NodeUpdate } from './node-view.ts';
import { isReleased, parseRelease, RELEASE_ANNOTATION, unreadableEntries } from './release.ts';

interface Changes {
  readonly violations: Violation[];
  readonly warnings: string[];
}

/**
 * What an update does to the protection of taints that stay: it announces their release, or takes the node out of a policy.
 * Both are allowed, and both are the first of two steps by which a taint goes: they leave a record.
 */
export function changesOfProtection(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Changes {
  const { node, oldNode, requester } = request;
  const binding = policies.filter((policy) => !policy.exempts(requester));
  const left = binding.filter((policy) => policy.selectsNode(oldNode.labels) && !policy.selectsNode(node.labels));
  const departures = protections(left, node.taints, request).map(({ policy, taint, field }) => ({
    violation: taintViolation(policy, field, taint, 'unselected'),
    warning: `TaintPolicy ${policy.name} no longer protects taint ${formatTaint(taint)}: the node left it`,
  }));
  const announced = node.release === oldNode.release ? [] : announcements(request, binding);
  const found = [...departures, ...announced];
  return {
    violations: found.flatMap(({ violation }) => (violation ? [violation] : [])),
    warnings: found.map(({ warning }) => warning),
  };
}

interface Change {
  readonly violation?: Violation;
  readonly warning: string;
}

/** Says at once whether a new release annotation will do what its author thinks. */
function announcements(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Change[] {
  const { node } = request;
  const release = parseRelease(node.release);
  const holding = policies.filter((policy) => policy.mode !== 'Audit' && policy.selectsNode(node.labels));
  if (release.entries.length === 0 || holding.length === 0) return [];

  const named = protections(
    holding,
    node.taints.filter((taint) => isReleased(release, taint)),
    request,
  ).map(
    ({ policy, taint, field }): Change =>
      policy.releasable
        ? {
            violation: taintViolation(policy, field, taint, 'announced'),
            warning: `TaintPolicy ${policy.name} now lets taint ${formatTaint(taint)} go, once${comesBack(policy, taint)}`,
          }
        : { warning: `TaintPolicy ${policy.name} allows no release of taint ${formatTaint(taint)}` },
  );
  const unreadable = unreadableEntries(release).map((text) => ({
    warning: `${RELEASE_ANNOTATION}: cannot read "${text}", expected key=value:Effect`,
  }));
  const idle =
    named.length + unreadable.length === 0
      ? [{ warning: `${RELEASE_ANNOTATION} names no protected taint of this node` }]
      : [];
  return [...named, ...unreadable, ...idle];
}

/** Where the leader repairs nodes, leave to go is not leave to stay away. */
function comesBack({ mode, present }: CompiledTaintPolicy, taint: Taint): string {
  const returns = present.some(
    ({ value }) =>
      identity(value.taint) === identity(taint) &&
      (taint.effect !== 'NoExecute' || value.mayEvict) &&
      !isTransientTaintKey(taint.key),
  );
  return mode === 'Restore' && returns ? '; in a cluster, a Present taint is put back' : '';
}

function protections(
  policies: readonly CompiledTaintPolicy[],
  taints: readonly Taint[],
  { oldNode }: Pick<NodeUpdate, 'oldNode'>,
) {
  const isSettled = settledOn(oldNode.remembered);
  return policies.flatMap((policy) =>
    taints.flatMap((taint) => {
      const field = policy.heldBy(taint, isSettled);
      return field === undefined ? [] : [{ policy, taint, field }];
    }),
  );
}
