import type { Command } from 'commander';
import { InputError } from '../../files/input-error.ts';
import { matchesPattern } from '../../kubernetes/pattern.ts';
import { repeatable } from '../options.ts';
import type { CoverageInput } from './coverage-input.ts';

/** The DaemonSets and nodes that a command selects, by names in which `*` stands for any run of characters. None: all. */
export interface SelectionOptions {
  readonly namespace?: readonly string[];
  readonly daemonset?: readonly string[];
  readonly node?: readonly string[];
}

/** Adds `--namespace`, `--daemonset` and `--node`. */
export function withSelection(command: Command): Command {
  return command
    .option(
      '-n, --namespace <name>',
      'only the DaemonSets of this namespace; * is any text; may be repeated',
      repeatable,
    )
    .option('--daemonset <name>', 'only this DaemonSet; * is any text; may be repeated', repeatable)
    .option('--node <name>', 'only this node; * is any text; may be repeated', repeatable);
}

/**
 * Applies the selection, and sorts by name. A cluster can be without DaemonSets, but files cannot.
 * @throws InputError if nothing is selected
 */
export function selectFrom(
  input: CoverageInput,
  { namespace = [], daemonset = [], node = [] }: SelectionOptions,
  source: 'files' | 'cluster',
): CoverageInput {
  const isNamed = (patterns: readonly string[], name: string) =>
    patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, name));
  const isChosen = (each: { readonly namespace: string; readonly name: string }) =>
    isNamed(namespace, each.namespace) && isNamed(daemonset, each.name);
  const daemonSets = input.daemonSets.filter(isChosen);
  const refused = input.refused.filter(isChosen);
  const nodes = input.nodes.filter(({ name }) => isNamed(node, name));
  const names = [...namespace, ...daemonset];
  const isWhole = (patterns: readonly string[]) => source === 'cluster' && patterns.length === 0;
  // What is missing may be in a file that could not be read.
  if (daemonSets.length + refused.length === 0 && !isWhole(names)) {
    throw new InputError([...input.unread, none('DaemonSet', names, [...input.daemonSets, ...input.refused])]);
  }
  if (nodes.length === 0 && !isWhole(node)) {
    throw new InputError([...input.unread, none('Node', node, input.nodes)]);
  }
  return {
    ...input,
    notes: [
      ...input.notes,
      ...(daemonSets.length + refused.length === 0 ? ['the cluster has no DaemonSets'] : []),
      ...(nodes.length === 0 ? ['the cluster has no Nodes'] : []),
    ],
    refused,
    ...(input.workloads ? { workloads: input.workloads.filter((each) => isNamed(namespace, each.namespace)) } : {}),
    daemonSets: daemonSets.toSorted((a, b) => inOrder(a.namespace, b.namespace) || inOrder(a.name, b.name)),
    nodes: nodes.toSorted((a, b) => inOrder(a.name, b.name)),
  };
}

/** `w-2` before `w-10`. */
const inOrder = new Intl.Collator('en', { numeric: true }).compare;

/** Why nothing is selected. */
function none(kind: string, names: readonly string[], all: readonly unknown[]): string {
  return names.length > 0
    ? `no ${kind} matches ${names.join(', ')}; ${all.length} ${all.length === 1 ? 'was' : 'were'} compared`
    : `the files have no ${kind}: coverage compares Nodes with DaemonSets`;
}
