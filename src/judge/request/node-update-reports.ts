import { formatTaint } from '../../kubernetes/taint.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import {
  ALLOW_REMOVAL_ANNOTATION,
  allowRemovalWith,
  parseAllowedRemovals,
  unreadableEntries,
} from '../allow-removal.ts';
import type { Outcome } from '../outcomes.ts';
import { taintViolation, type Violation } from '../violation.ts';
import { isKubelet, type NodeUpdate } from './node-request.ts';
import type { Protection, Ruling } from './removal-rulings.ts';

/** The most taints that one text lists. Users read it in a terminal. */
const MAX_TAINTS = 8;

/** Why an update is denied: the removals, the policies that deny them, and what the reader can do. */
export function refusal({ node, oldNode, requester }: NodeUpdate, denied: readonly Ruling[]): string {
  const removals = denied.map(
    ({ taint, by }) => `node ${node.name}: removing taint ${formatTaint(taint)} is not allowed (${byOf(by)}).`,
  );
  return [
    ...atMost(MAX_TAINTS, removals),
    ...restorationHints(denied, isKubelet(requester)),
    ...removalHints(node.name, oldNode.allowRemoval, denied),
  ].join(' ');
}

function byOf(by: readonly Protection[]): string {
  return by.map(({ policy, field }) => `TaintPolicy "${policy.name}", ${field}, mode ${policy.mode}`).join('; ');
}

function restorationHints(denied: readonly Ruling[], byKubelet: boolean): string[] {
  if (!denied.some(({ mode }) => mode === 'Restore')) return [];
  return [
    byKubelet
      ? // The plugin refuses such an update before webhooks are called.
        'An update by the node itself is refused, because taintkeeper does not patch it. The admission plugin NodeRestriction is probably off.'
      : "It was not restored: taintkeeper's mutating webhook was not called, or a later webhook removed the taint again (to check: taintkeeper doctor).",
  ];
}

function removalHints(node: string, annotation: string | undefined, denied: readonly Ruling[]): string[] {
  const unreadable = unreadableEntries(parseAllowedRemovals(annotation));
  const policies = denied.flatMap(({ forbiddenBy }) => forbiddenBy.map(({ policy }) => policy));
  const closed = new Set(policies.filter((policy) => !policy.allowsRemovalByAnnotation).map(({ name }) => name));
  const [noun, verb, object] =
    closed.size === 1 ? ['TaintPolicy', 'does', 'policy'] : ['TaintPolicies', 'do', 'policies'];
  const open = denied.filter(({ forbiddenBy }) => forbiddenBy.every(({ policy }) => policy.allowsRemovalByAnnotation));
  const value = allowRemovalWith(
    annotation,
    open.slice(0, MAX_TAINTS).map(({ taint }) => taint),
  );
  return [
    ...(unreadable.length > 0
      ? [
          `Annotation ${ALLOW_REMOVAL_ANNOTATION}: cannot read "${atMost(MAX_TAINTS, unreadable).join('", "')}", expected key=value:Effect.`,
        ]
      : []),
    ...(closed.size > 0
      ? [`${noun} "${[...closed].join('", "')}" ${verb} not allow removal by annotation: change the ${object} first.`]
      : []),
    ...(open.length > 0
      ? [
          `To allow it, and then remove it: kubectl annotate --overwrite node ${shellWord(node)} ${shellWord(`${ALLOW_REMOVAL_ANNOTATION}=${value}`)}`,
        ]
      : []),
  ];
}

/** A violation for each of the policies. */
export function violationsOf({ taint }: Ruling, protections: readonly Protection[], outcome: Outcome): Violation[] {
  return protections.map(({ policy, field }) => taintViolation(policy, field, taint, outcome));
}

/** The names of the policies, for the beginning of a sentence. */
export function policyNames(protections: readonly Protection[]): string {
  return `TaintPolicy ${protections.map(({ policy }) => policy.name).join(', ')}`;
}

/** Warnings of policies in mode Audit. If only --audit puts them into it, they say what the declared mode would do. */
export function auditWarnings({ taint, by }: Ruling): string[] {
  const text = `taint ${formatTaint(taint)}`;
  return [...Map.groupBy(by, ({ policy }) => policy.declaredMode)].map(([mode, protections]) => {
    if (mode === 'Audit') return `${policyNames(protections)}, Audit: the request removed ${text}`;
    return `${policyNames(protections)} would ${mode === 'Deny' ? 'deny removing' : 'restore'} ${text} (--audit)`;
  });
}
