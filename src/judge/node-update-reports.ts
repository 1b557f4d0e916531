import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import { taintViolation, type Violation } from './decision.ts';
import { settledOn } from './memory.ts';
import type { NodeUpdate } from './node-view.ts';
import { isReleased, parseRelease, RELEASE_ANNOTATION, unreadableEntries } from './removal.ts';

/** A policy that protects a taint, and the field that says so. */
export interface Protection {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** What the policies say of one dropped taint. */
export interface Ruling {
  readonly taint: Taint;
  /** The strongest mode of the policies that stand, or undefined when all of them let the taint go. */
  readonly mode: TaintMode | undefined;
  /** The policies of that mode. */
  readonly standing: readonly Protection[];
  /** Policies that let the taint go because the release annotation named it. */
  readonly released: readonly Protection[];
  /** Policies that exempt the requester. */
  readonly exempt: readonly Protection[];
}

/** Somebody reads this in a terminal. */
const MAX_TAINTS = 8;

/** Why an update is refused: what was dropped, who protects it, and what the reader can do. */
export function refusal({ node, oldNode }: NodeUpdate, denied: readonly Ruling[], byNode: boolean): string {
  const losses = denied.map(({ taint, standing }) => {
    const by = standing.map(({ policy, field }) => `TaintPolicy "${policy.name}" (${field}, mode ${policy.mode})`);
    return `node ${node.name} must keep taint ${formatTaint(taint)}, protected by ${by.join(' and ')}.`;
  });
  return [
    ...atMost(MAX_TAINTS, losses),
    ...restoreAdvice(denied, byNode),
    ...releaseAdvice(node.name, oldNode.release, denied),
  ].join(' ');
}

function restoreAdvice(denied: readonly Ruling[], byNode: boolean): string[] {
  if (!denied.some(({ mode }) => mode === 'Restore')) return [];
  return byNode
    ? ['An update by the node itself is refused: the API server does not let nodes change their taints.']
    : [
        "It was not restored: is taintkeeper's mutating webhook called, or does a later webhook remove the taint again?",
      ];
}

function releaseAdvice(node: string, annotation: string | undefined, denied: readonly Ruling[]): string[] {
  const release = parseRelease(annotation);
  const unreadable = unreadableEntries(release);
  const closed = denied.flatMap(({ standing }) => standing.filter(({ policy }) => !policy.releasable));
  const open = denied.filter(({ standing }) => standing.every(({ policy }) => policy.releasable));
  const unspent = open.filter(({ taint }) => isReleased(release, taint));
  const announceable = open.filter((ruling) => !unspent.includes(ruling)).slice(0, MAX_TAINTS);
  // What was announced before stays announced: to overwrite it would only move the refusal to another taint.
  const announced = release.entries.filter(isHarmless).map(({ text }) => text);
  const taints = [...announced, ...announceable.map(({ taint }) => formatTaint(taint))].join(',');
  return [
    ...(unreadable.length > 0
      ? [`Annotation ${RELEASE_ANNOTATION} cannot be read at "${atMost(MAX_TAINTS, unreadable).join('", "')}".`]
      : []),
    // With others refused, mutation leaves it there on purpose.
    ...(unspent.length === denied.length
      ? [
          `Annotation ${RELEASE_ANNOTATION} is still there: taintkeeper's mutating webhook should have removed it. Is it called?`,
        ]
      : []),
    ...(closed.length > 0
      ? [
          `TaintPolicy "${[...new Set(closed.map(({ policy }) => policy.name))].join('", "')}" allows no release: ` +
            'change the policy first.',
        ]
      : []),
    ...(announceable.length > 0
      ? [`To remove it on purpose, first: kubectl annotate --overwrite node ${node} ${RELEASE_ANNOTATION}=${taints}`]
      : []),
  ];
}

/** Whoever may patch nodes writes the annotation, and somebody else may paste the advice into a shell. */
function isHarmless({ text, taint }: { text: string; taint?: unknown }): boolean {
  return taint !== undefined && /^[\w./=:-]+$/.test(text);
}

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
    warning: `TaintPolicy ${policy.name} no longer protects taint ${formatTaint(taint)}: it no longer selects the node`,
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
            warning: `TaintPolicy ${policy.name} allows the removal of taint ${formatTaint(taint)}, once${comesBack(policy, taint)}`,
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
  return mode === 'Restore' && returns ? '; in a cluster, a Present taint is restored' : '';
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
