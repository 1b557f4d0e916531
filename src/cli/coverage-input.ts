import type { SchedulingNode } from '../coverage/coverage.ts';
import { isPluginDirectory } from '../coverage/node-critical.ts';
import type { Placement } from '../coverage/placement.ts';
import type { InstalledDaemonSet } from '../coverage/remedies.ts';
import type { SourceDocument } from '../files/documents.ts';
import { isKind, objectsOf, readNamed } from '../files/kubernetes-objects.ts';
import { InputError } from '../files/text-files.ts';
import { matchesPattern } from '../kubernetes/pattern.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { asNode, viewNode } from '../objects/node-object.ts';
import { controllerOf, viewPriority, viewScheduling } from '../objects/workload-object.ts';
import type { CompiledTolerationPolicy } from '../policy/policy-set.ts';
import type { Path } from '../policy/problem.ts';

/** The input of coverage. */
export interface CoverageInput {
  readonly daemonSets: readonly InstalledDaemonSet[];
  readonly nodes: readonly SchedulingNode[];
  /** No entry for a DaemonSet whose pods were not read. */
  readonly placements: ReadonlyMap<InstalledDaemonSet, Placement>;
  /** The TolerationPolicies in force, if requested. */
  readonly tolerationPolicies?: readonly CompiledTolerationPolicy[];
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

/** The selection of the user. */
export interface CoverageChoice {
  /** None: all. */
  readonly namespace?: readonly string[];
  /** Names, in which `*` stands for any run of characters. None: all. */
  readonly daemonset?: readonly string[];
  readonly node?: readonly string[];
}

/**
 * The Nodes and DaemonSets of documents.
 * @param namespace of the DaemonSets that name none
 * @throws InputError for objects that cannot be read, or occur twice
 */
export function coverageFrom(documents: readonly SourceDocument[], namespace: string): CoverageInput {
  const daemonSets = new Map<string, InstalledDaemonSet>();
  const nodes = new Map<string, SchedulingNode>();
  for (const document of documents) {
    for (const { object, path } of objectsOf(document)) {
      if (isKind(object, 'apps/v1', 'DaemonSet')) {
        const daemonSet = readNamed(document, path, () => readDaemonSet(object, path, namespace));
        add(daemonSets, `${daemonSet.namespace}/${daemonSet.name}`, daemonSet, `${document.locate(path)}: DaemonSet`);
      } else if (isKind(object, 'v1', 'Node')) {
        const node = readNamed(document, path, () => readNode(object, path));
        add(nodes, node.name, node, `${document.locate(path)}: Node`);
      }
    }
  }
  return { daemonSets: [...daemonSets.values()], nodes: [...nodes.values()], placements: new Map(), notes: [] };
}

/** @throws MalformedObjectError */
export function readDaemonSet(object: unknown, path: Path, namespace: string): InstalledDaemonSet {
  const { annotations, labels } = viewDaemonSet(asDaemonSet(object, path), namespace, '');
  const { priorityClass, writes } = viewPriority(object, path);
  return {
    ...viewScheduling(object, path, namespace),
    annotations,
    labels,
    controller: controllerOf(object, path),
    priorityClass,
    pluginDirectories: writes.filter(isPluginDirectory),
  };
}

/** @throws MalformedObjectError */
export function readNode(object: unknown, path: Path): SchedulingNode {
  const { name, labels, taints } = viewNode(asNode(object, path), '');
  return { name, labels, taints };
}

/**
 * Applies the selection, and sorts by name. A cluster can be without DaemonSets, but files cannot.
 * @throws InputError if nothing is selected
 */
export function choose(
  input: CoverageInput,
  { namespace = [], daemonset = [], node = [] }: CoverageChoice,
  source: 'files' | 'cluster',
): CoverageInput {
  const isAsked = (patterns: readonly string[], name: string) =>
    patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, name));
  const daemonSets = input.daemonSets.filter(
    (each) => isAsked(namespace, each.namespace) && isAsked(daemonset, each.name),
  );
  const nodes = input.nodes.filter(({ name }) => isAsked(node, name));
  const asked = [...namespace, ...daemonset];
  const isWhole = (patterns: readonly string[]) => source === 'cluster' && patterns.length === 0;
  if (daemonSets.length === 0 && !isWhole(asked)) {
    throw new InputError([none('DaemonSet', asked, input.daemonSets)]);
  }
  if (nodes.length === 0 && !isWhole(node)) throw new InputError([none('Node', node, input.nodes)]);
  return {
    ...input,
    notes: [
      ...input.notes,
      ...(daemonSets.length === 0 ? ['the cluster has no DaemonSets'] : []),
      ...(nodes.length === 0 ? ['the cluster has no Nodes'] : []),
    ],
    daemonSets: daemonSets.toSorted((a, b) => inOrder(a.namespace, b.namespace) || inOrder(a.name, b.name)),
    nodes: nodes.toSorted((a, b) => inOrder(a.name, b.name)),
  };
}

/** `w-2` before `w-10`. */
const inOrder = new Intl.Collator('en', { numeric: true }).compare;

function none(kind: string, asked: readonly string[], all: readonly unknown[]): string {
  return asked.length > 0
    ? `no ${kind} matches ${asked.join(', ')}; ${all.length} ${all.length === 1 ? 'was' : 'were'} compared`
    : `the files have no ${kind}: coverage compares Nodes with DaemonSets`;
}

function add<T>(found: Map<string, T>, name: string, value: T, place: string): void {
  if (found.has(name)) throw new InputError([`${place} ${name} is there twice`]);
  found.set(name, value);
}
