import { Document, type YAMLMap } from 'yaml';
import { KUBECTL_YAML } from '../files/documents.ts';
import { yamlText } from '../files/printed-data.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { printable } from '../kubernetes/text.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import type { DerivedPolicy } from './derived-policies.ts';

/** The policies as one YAML stream for `kubectl apply`, with comments that name the source of each line. */
export function formatPolicies(derived: readonly DerivedPolicy[]): string {
  return derived.map(formatOne).join('---\n');
}

/** The policies as one object for `kubectl apply`: a List for several. */
export function policiesAsObject(derived: readonly DerivedPolicy[]): object {
  const items = derived.map(manifestOf);
  const [only, ...others] = items;
  return only && others.length === 0 ? only : { apiVersion: 'v1', kind: 'List', items };
}

function manifestOf({ policy: { kind, name, spec } }: DerivedPolicy) {
  return { apiVersion: POLICY_API_VERSION, kind, metadata: { name }, spec };
}

function formatOne(derived: DerivedPolicy): string {
  const { policy, taints, sources } = derived;
  const document = new Document(manifestOf(derived), KUBECTL_YAML);
  document.commentBefore = comment([
    `Declared in ${sources.join(', ')}; written by taintkeeper talos policies.`,
    ...notesOn(derived).map((note) => note.replace(/^./, (first) => first.toUpperCase())),
  ]);
  for (const [index, { at }] of taints.entries()) {
    const rule = document.getIn(['spec', 'taints', index], true) as YAMLMap;
    const { effect } = policy.spec.taints[index] ?? {};
    const evicts = effect === 'NoExecute' && policy.spec.mode !== 'Audit';
    rule.commentBefore = comment([at, ...(evicts ? NO_EVICTION : [])]);
  }
  return yamlText(document);
}

/** Further notes for the reader. */
export function notesOn({ leftOut, deadlocked }: DerivedPolicy): string[] {
  return [
    ...leftOut.map((taint) => {
      return `left out: ${formatTaint(taint)} (${taint.at}), which its agent removes: a policy would restore it`;
    }),
    ...deadlocked.map((source) => {
      return `up to Talos 1.13, workers do not get the labels that select them as long as ${source} has nodeTaints: NodeRestriction refuses the request, which has both`;
    }),
  ];
}

const NO_EVICTION = [
  'For nodes that register with the labels above. Nodes that run already, or get the labels later, as machine.nodeLabels',
  'does it, do not get the taint, because it would evict their pods: the policy reports them.',
];

function comment(lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n');
}
