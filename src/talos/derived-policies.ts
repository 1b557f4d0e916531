import { groupsBy } from '../collections/groups-by.ts';
import { InputError } from '../files/input-error.ts';
import { formatTaint, taintIdentity } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import { requiredTaintRule } from '../policy/required-taint-rule.ts';
import type { PolicySelector } from '../policy/selector.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import { isFor, selectorsFor } from './declared-selectors.ts';
import { policyName } from './derived-policy-name.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import { contradiction, type NodeDeclaration, type NodeTaint } from './node-declaration.ts';
import { taintsKeepLabelsOff } from './refused-taints.ts';

/** A policy that declares for the cluster what machine configurations declare for their machines. */
export interface DerivedPolicy {
  readonly policy: TaintPolicy;
  /** The declared taints, in the order of the policy. */
  readonly taints: readonly NodeTaint[];
  /** Declared transient taints: a policy would restore what their agents remove. */
  readonly leftOut: readonly NodeTaint[];
  /** The files. */
  readonly sources: readonly string[];
  /** Files whose taints prevent the labels that select their nodes: see {@link taintsKeepLabelsOff}. */
  readonly deadlocked: readonly string[];
}

export interface DerivationOptions {
  readonly mode: TaintMode;
  /** The nodes of all files. Absent: each file's labels identify them. */
  readonly nodeSelector?: PolicySelector | undefined;
}

/**
 * One policy for each set of declared taints. None if no taint is to be kept.
 * @throws InputError with the places, for files that contradict each other, or whose nodes cannot be distinguished from others
 */
export function derivePolicies(declarations: readonly NodeDeclaration[], options: DerivationOptions): DerivedPolicy[] {
  const groups = groupsBy(declarations, groupKey).filter(([first]) => lastingOf(first).length > 0);
  const faults: string[] = [];
  const names = new Set<string>();
  const derived = groups.flatMap((group): DerivedPolicy[] => {
    const choice = selectorOf(group, declarations, options.nodeSelector);
    if (!choice.ok) {
      faults.push(choice.fault);
      return [];
    }
    const { selector } = choice;
    const [first] = group;
    const taints = lastingOf(first).toSorted((a, b) => (taintIdentity(a) < taintIdentity(b) ? -1 : 1));
    const spec = {
      mode: options.mode,
      nodeSelector: selector,
      taints: taints.map(requiredTaintRule),
    };
    const policy: TaintPolicy = { kind: 'TaintPolicy', name: policyName(selector, names), spec };
    const leftOut = group.flatMap(({ taints }) => taints.filter(({ key }) => isTransientTaintKey(key)));
    const configurations = group.map(({ configuration }) => configuration);
    const deadlocked = configurations.filter((configuration) => taintsKeepLabelsOff(configuration, selector));
    const sources = (of: readonly MachineConfiguration[]) => of.map(({ source }) => source);
    return [{ policy, taints, leftOut, sources: sources(configurations), deadlocked: sources(deadlocked) }];
  });
  if (faults.length > 0) throw new InputError(faults);
  return derived;
}

/** The taints of files for which there is no policy, because all taints that they declare are transient. */
export function onlyTransientTaints(declarations: readonly NodeDeclaration[]): NodeTaint[] {
  return declarations.filter((declaration) => lastingOf(declaration).length === 0).flatMap(({ taints }) => taints);
}

/** Control planes and workers never share a policy, because their nodes are selected in different ways. */
function groupKey(declaration: NodeDeclaration): string {
  const isControlPlane = declaration.configuration.role === 'controlplane';
  return [isControlPlane, ...lastingOf(declaration).map(formatTaint).sort()].join(' ');
}

function lastingOf({ taints }: NodeDeclaration): NodeTaint[] {
  return taints.filter(({ key }) => !isTransientTaintKey(key));
}

/** Declarations of the same taints. */
type DeclarationGroup = readonly [NodeDeclaration, ...NodeDeclaration[]];

/** The selector of a policy, or why none can be used. */
type SelectorChoice =
  | { readonly ok: true; readonly selector: PolicySelector }
  | { readonly ok: false; readonly fault: string };

/** The first selector that selects all nodes of the group, and none of a file that does not declare the group's taints. */
function selectorOf(
  group: DeclarationGroup,
  all: readonly NodeDeclaration[],
  given: PolicySelector | undefined,
): SelectorChoice {
  const candidates = given ? [given] : selectorsFor(group);
  const clashes = candidates.map((selector) => {
    const others = given ? all : all.filter((declaration) => isFor(selector, declaration));
    return others.map((other) => clashOf(group, other, given !== undefined)).find((clash) => clash !== undefined);
  });
  const good = candidates.find((_, index) => clashes[index] === undefined);
  if (good) return { ok: true, selector: good };
  const fault =
    clashes.at(-1) ??
    `${sourcesOf(group)}: no label that is declared there says which nodes these are: name them with --node-selector`;
  return { ok: false, fault };
}

/** Why a policy for the nodes of the group must not select the nodes of the other file. */
function clashOf([first]: DeclarationGroup, other: NodeDeclaration, given: boolean): string | undefined {
  const declared = new Map(other.taints.map((taint) => [taintIdentity(taint), taint]));
  for (const taint of lastingOf(first)) {
    const counterpart = declared.get(taintIdentity(taint));
    const advice = given
      ? '--node-selector is for the nodes of all files: name only files of alike nodes'
      : 'nothing tells their nodes apart: give them different labels, or name one file at a time with --node-selector';
    if (counterpart === undefined) {
      const place = other.labels.values().next().value?.at;
      const where = place ? `${other.configuration.source} (labels: ${place})` : other.configuration.source;
      return `${taint.at}: taint ${formatTaint(taint)} is not declared in ${where}: ${advice}`;
    }
    if ((counterpart.value ?? '') !== (taint.value ?? '')) return `${contradiction(taint, counterpart)}, and ${advice}`;
  }
  return undefined;
}

function sourcesOf(declarations: readonly NodeDeclaration[]): string {
  return declarations.map(({ configuration }) => configuration.source).join(', ');
}
