import { isDeepStrictEqual } from 'node:util';
import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import { compileSelector, type LabelSelector, type StringMap } from '../../kubernetes/label-selector.ts';
import { isPattern, matchesPattern } from '../../kubernetes/pattern.ts';
import { formatRequirement, requirementsOf, satisfiable } from '../../kubernetes/selector-overlap.ts';
import { compileDaemonSetSelection, type DaemonSetSelection } from '../../policy/daemon-set-selection.ts';
import { isForDaemonSets, type Policy } from '../../policy/policy.ts';
import { atMost, count } from '../../text/counts.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { DoctorNode } from '../facts/doctor-node.ts';
import type { Facts } from '../facts/facts.ts';

const MAX_NAMED = 6;

/** Checks that every policy selects an object. Built-in policies need not: they name CNI plugins that may be installed. */
export function checkSelectors({
  policies,
  builtin,
  nodes,
  daemonSets,
}: Pick<Facts, 'policies' | 'builtin' | 'nodes' | 'daemonSets'>): readonly Finding[] {
  const facts = { policies, nodes, daemonSets };
  return needs(
    facts,
    (known) => {
      const selecting = policiesInForce(known.policies).filter((policy) => policy.kind !== 'TolerationRestriction');
      const results = selecting.flatMap((policy) =>
        policy.kind === 'TaintPolicy'
          ? checkNodes(policy.name, policy.spec.nodeSelector, known.nodes)
          : checkDaemonSets(policy, policy.spec.daemonSets, known.daemonSets, builtin),
      );
      return results.length > 0 ? results : [finding('ok', `every policy (${selecting.length}) selects something`)];
    },
    { essential: true },
  );
}

function checkNodes(name: string, selector: LabelSelector | undefined, nodes: readonly DoctorNode[]): Finding[] {
  const requirements = requirementsOf(selector);
  const edit = `change spec.nodeSelector: kubectl edit taintpolicy ${name}`;
  const required = requirements.map(formatRequirement).join(', ');
  if (!satisfiable(requirements)) {
    return [finding('problem', `TaintPolicy ${name} can select no node: nothing is ${required}`, edit)];
  }
  if (selector === undefined) return [];
  const selects = compileSelector(selector);
  if (nodes.some(({ labels }) => selects(labels))) return [];
  if (nodes.length === 0) return [finding('note', `TaintPolicy ${name}: there are no nodes yet`)];
  const evidence = `TaintPolicy ${name} selects none of ${count(nodes.length, 'node')} by ${required}${whyNot(selector, nodes)}`;
  // The nodes may register later, so this is a note.
  return [
    finding('note', evidence, `a pool that is scaled to zero needs nothing; otherwise label its nodes, or ${edit}`),
  ];
}

function checkDaemonSets(
  { kind, name }: Policy,
  selection: DaemonSetSelection,
  daemonSets: readonly DaemonSetView[],
  builtin: readonly Policy[],
): Finding[] {
  if (daemonSets.some(compileDaemonSetSelection(selection))) return [];
  const policy = `${kind} ${name}`;
  const isBuiltin = builtin.some(
    (one) =>
      isForDaemonSets(one) &&
      one.kind === kind &&
      one.name === name &&
      isDeepStrictEqual(one.spec.daemonSets, selection),
  );
  if (isBuiltin) {
    return [finding('note', `${policy} selects known CNI plugins by name, and none of them runs here`)];
  }
  const edit = `change spec.daemonSets: kubectl edit ${kind.toLowerCase()} ${name}`;
  if (!satisfiable(requirementsOf(selection.selector))) {
    return [finding('problem', `${policy} can select no DaemonSet: spec.daemonSets.selector contradicts itself`, edit)];
  }
  if (daemonSets.length === 0) return [finding('note', `${policy}: there are no DaemonSets yet`)];
  const evidence = `${policy} selects none of ${count(daemonSets.length, 'DaemonSet')}: ${narrowing(selection, daemonSets)}`;
  return [finding('problem', evidence, edit)];
}

/** Which of the three fields of the selection excludes the rest. */
function narrowing({ namespaces, names = ['*'], selector }: DaemonSetSelection, all: readonly DaemonSetView[]): string {
  const list = (patterns: readonly string[]) => atMost(MAX_NAMED, patterns).join(', ');
  const inNamespaces = all.filter(({ namespace }) => namespaces.some((one) => matchesPattern(one, namespace)));
  if (inNamespaces.length === 0) return `there is none in namespace${plural(namespaces)} ${list(namespaces)}`;
  const named = inNamespaces.filter(({ name }) => names.some((one) => matchesPattern(one, name)));
  const there = list(inNamespaces.map(({ name }) => name));
  if (named.length === 0)
    return `none is named ${list(names)} in namespace${plural(namespaces)} ${list(namespaces)}; there: ${there}`;
  const required = requirementsOf(selector).map(formatRequirement).join(', ');
  return `none is labelled ${required}${whyNot(selector ?? {}, named)}; named so: ${list(named.map(({ name }) => name))}`;
}

function plural(patterns: readonly string[]): string {
  return patterns.length > 1 || patterns.some(isPattern) ? 's' : '';
}

/** The requirements that no object meets, and the values that the objects have. */
function whyNot(selector: LabelSelector, objects: readonly { readonly labels: StringMap }[]): string {
  const unmet = requirementsOf(selector).filter((requirement) => {
    const meets = compileSelector({ matchExpressions: [requirement] });
    return !objects.some(({ labels }) => meets(labels));
  });
  if (unmet.length === 0) return ' (nothing has all of these at once)';
  const said = unmet.map(({ key }) => {
    const values = [
      ...new Set(objects.flatMap(({ labels }) => (Object.hasOwn(labels, key) ? [labels[key] ?? ''] : []))),
    ];
    return values.length === 0
      ? `nothing has ${key}`
      : `here, ${key} is ${atMost(MAX_NAMED, values.sort()).join(', ')}`;
  });
  return ` (${said.join('; ')})`;
}
