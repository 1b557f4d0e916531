import { policyText } from '../files/policy-manifest.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { removerOf } from '../kubernetes/transient-taints.ts';
import type { DerivedPolicy } from './derived-policies.ts';
import type { NodeTaint } from './node-declaration.ts';

/** The policies as one YAML stream for `kubectl apply`, with comments that name the source of each line. */
export function formatPolicies(derived: readonly DerivedPolicy[]): string {
  return derived.map(formatOne).join('---\n');
}

function formatOne(derived: DerivedPolicy): string {
  const { policy, taints, sources } = derived;
  const notes = [
    `Declared in ${sources.join(', ')}; written by taintkeeper talos policies.`,
    ...notesOn(derived).map(capitalized),
  ];
  return policyText(policy, notes, ({ effect }, index) => {
    const at = taints[index]?.at ?? '';
    const evicts = effect === 'NoExecute' && policy.spec.mode !== 'Audit';
    return [at, ...(evicts ? NO_EVICTION : [])];
  });
}

/** Further notes for the reader. */
export function notesOn({ leftOut, deadlocked }: DerivedPolicy): string[] {
  return [
    ...leftOut.map(noteOnLeftOut),
    ...deadlocked.map((source) => {
      return `up to Talos 1.13, a worker that registers does not get the labels that select it as long as ${source} has nodeTaints: NodeRestriction refuses a request with both. A running worker may get labels that are applied together with the taints`;
    }),
  ];
}

/** Why no policy has this transient taint. */
export function noteOnLeftOut(taint: NodeTaint): string {
  return `left out: ${formatTaint(taint)} (${taint.at}), which ${removerOf(taint.key)} removes: a policy would restore it`;
}

/** A note as a sentence of a comment. */
export function capitalized(note: string): string {
  return note.replace(/^./, (first) => first.toUpperCase());
}

const NO_EVICTION = [
  'For nodes that register with the labels above. Nodes that run already, or get the labels later, as machine.nodeLabels',
  'does it, do not get the taint, because it would evict their pods: the policy reports them.',
];
