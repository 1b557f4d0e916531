import type { Taint } from '../kubernetes/taint.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { NodeUpdate } from './node-view.ts';
import { isReleased, parseRelease, RELEASE_ANNOTATION, unreadableEntries } from './release.ts';

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
    ? ["A node's own update is refused, not restored: the API server lets no node change its taints."]
    : ["It was not put back: is taintkeeper's mutating webhook called, and does none after it undo that?"];
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
      ? [`Annotation ${RELEASE_ANNOTATION} is still there: is taintkeeper's mutating webhook called, which spends it?`]
      : []),
    ...(closed.length > 0
      ? [
          `TaintPolicy "${[...new Set(closed.map(({ policy }) => policy.name))].join('", "')}" allows no release: ` +
            'only a change of the policy does.',
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
