import type { Command } from 'commander';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isNotServed } from '../../cluster/client/api-error.ts';
import { listPolicies } from '../../cluster/policies.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { WORKLOAD_KINDS, type Workload, workloadName } from '../../coverage/workload.ts';
import { locateField, readDocuments, type SourceDocument } from '../../files/documents.ts';
import { isKind, objectsOf, readNamed } from '../../files/kubernetes-objects.ts';
import { InputError } from '../../files/text-files.ts';
import { openShiftMark } from '../../kubernetes/openshift.ts';
import { NEW_ROLE, OLD_ROLE } from '../../kubernetes/roles.ts';
import { printable } from '../../kubernetes/text.ts';
import { asNode, type NodeObject, viewNode } from '../../objects/node-object.ts';
import { POLICY_API_VERSION, type Policy, type PolicyKind, parsePolicy } from '../../policy/policy.ts';
import type { Path } from '../../policy/problem.ts';
import { analyzeRoles, type RoleAnalysis } from '../../role-migration/analysis.ts';
import { migrationCommands } from '../../role-migration/commands.ts';
import type { MigratingNode, MigrationFacts } from '../../role-migration/facts.ts';
import { type MigrationStep, migrationNotes, planMigration } from '../../role-migration/plan.ts';
import { atCluster } from '../cluster-options.ts';
import { type OutputFormat, outputOption } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { withProgress } from '../output/stderr.ts';
import { columns, namesIn } from '../output/table.ts';
import { EXIT } from '../process.ts';
import { filesOf, type SourceOptions, sourceCommand } from './options.ts';
import { listWorkloads, readWorkload } from './workloads.ts';

interface MigrateOptions extends SourceOptions {
  readonly output: OutputFormat;
}

/** `taintkeeper coverage migrate`: from the taint and label `master` to `control-plane`. */
export function migrateCommand(exit: (code: number) => void): Command {
  return sourceCommand('migrate')
    .description(
      'Print the remaining steps from the taint and label master to control-plane, in a safe order. Reads the whole cluster, or files with Nodes, workloads and policies. Changes nothing.',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Exit code: 0 nothing is left to do, 1 some steps are left, 2 the input or the cluster could not be read, or its nodes belong to OpenShift.

OpenShift needs the label and taint master, so there is no plan for it.`,
    )
    .action(async (args: readonly string[], options: MigrateOptions) => {
      const isAllDone = await migrate(filesOf(args, options), options);
      exit(isAllDone ? EXIT.ok : EXIT.problem);
    });
}

/** @returns whether nothing is left to do */
async function migrate(files: readonly string[], options: MigrateOptions): Promise<boolean> {
  const facts = await (files.length > 0
    ? readDocuments(files).then((documents) => migrationFrom(documents, 'default'))
    : atCluster(options, (client) => withProgress('reading the cluster', readMigration(client))));
  const steps = planMigration(facts);
  process.stdout.write(formatMigration({ roles: analyzeRoles(facts), steps }, options.output));
  return steps.every(isDone);
}

/**
 * The Nodes, workloads and policies of documents.
 * @throws InputError
 */
function migrationFrom(documents: readonly SourceDocument[], namespace: string): MigrationFacts {
  const nodes: MigratingNode[] = [];
  const workloads: Workload[] = [];
  const policies: Policy[] = [];
  for (const document of documents) {
    for (const { object, path } of objectsOf(document)) {
      const workload = readWorkload(document, object, path, namespace);
      if (workload) workloads.push(workload);
      else if (isKind(object, 'v1', 'Node')) nodes.push(readNamed(document, path, () => readMigratable(object, path)));
      else if (object.apiVersion === POLICY_API_VERSION) {
        const result = parsePolicy(object);
        if (!result.ok) {
          throw new InputError(
            result.problems.map(
              (problem) => `${locateField(document, [...path, ...problem.path])}: ${problem.message}`,
            ),
          );
        }
        policies.push(result.policy);
      }
    }
  }
  if (nodes.length === 0) throw new InputError(['no Node found: there is nothing to migrate']);
  return { nodes, workloads, policies, unreadPolicies: [] };
}

/**
 * The MachineConfigPool `master` selects its nodes by the old label. The controllers of openshift/machine-config-operator set the old taint.
 * @throws InputError for a node of OpenShift, MalformedObjectError
 */
function readMigratable(object: unknown, path: Path): MigratingNode {
  const { name, labels, taints, allowRemoval } = viewNode(asNode(object, path), '');
  const { metadata } = object as NodeObject;
  const mark = openShiftMark({ labels, annotations: metadata.annotations ?? {} });
  if (mark === undefined) return { name, labels, taints, allowRemoval };
  throw new InputError([
    `node ${name} belongs to OpenShift (${mark}), so there is no plan. OpenShift selects the nodes of its control plane by the label ${OLD_ROLE}, and sets the taint ${OLD_ROLE} itself: keep both`,
  ]);
}

/** The kinds of policies that can name the old taint or label. */
const POLICIES = ['TaintPolicy', 'TolerationPolicy', 'TolerationRestriction'] as const satisfies PolicyKind[];

/**
 * The nodes, workloads and policies of a cluster. All workloads are needed: a plan that misses one may evict it.
 * @throws ApiError, MalformedObjectError
 */
async function readMigration(client: ApiClient): Promise<MigrationFacts> {
  const [nodes, workloads, read] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readMigratable(object, [])),
    listWorkloads(client, WORKLOAD_KINDS),
    Promise.all(POLICIES.map((kind) => readPolicies(client, kind))),
  ]);
  return {
    nodes,
    workloads,
    policies: read.flatMap(({ policies }) => policies),
    unreadPolicies: read.flatMap(({ unread }) => unread),
  };
}

const AGAIN = 'run the command again before you change anything';

/** None if taintkeeper is not installed. */
async function readPolicies(
  client: ApiClient,
  kind: PolicyKind,
): Promise<{ readonly policies: readonly Policy[]; readonly unread: readonly string[] }> {
  try {
    const objects = await listPolicies(client, [kind]);
    return {
      policies: objects.flatMap(({ result }) => (result.ok ? result.policy : [])),
      unread: objects
        .filter(({ result }) => !result.ok)
        .map(({ name }) => `${kind} ${name} is not valid, and was left out: correct it, and ${AGAIN}`),
    };
  } catch (error) {
    if (isNotServed(error)) return { policies: [], unread: [] };
    if (!(error instanceof ApiError)) throw error;
    return {
      policies: [],
      unread: [`${kind} objects could not be read (${error.message}): correct this, and ${AGAIN}`],
    };
  }
}

interface Migration {
  readonly roles: RoleAnalysis;
  readonly steps: readonly MigrationStep[];
}

/** The result of `taintkeeper coverage migrate` as text. */
function formatMigration(migration: Migration, format: OutputFormat): string {
  return formatAs(format, { data: () => dataOf(migration), table: (look) => tableOf(migration, look) });
}

function tableOf({ roles, steps }: Migration, look: Look): string {
  return [
    `old: ${OLD_ROLE}\nnew: ${NEW_ROLE}\n`,
    ...nodeTable(roles, look),
    ...workloadTable(roles, look),
    checklist(steps),
  ].join('\n');
}

/** Whether a step is done. */
function isDone({ changes, byHand }: MigrationStep): boolean {
  return changes.length + byHand.length === 0;
}

function dataOf({ roles, steps }: Migration): object {
  return {
    nodes: roles.nodes,
    workloads: roles.workloads.map(({ workload: { kind, namespace, name, managedBy }, ...rest }) => ({
      kind,
      namespace,
      name,
      ...(managedBy === undefined ? {} : { managedBy }),
      ...rest,
    })),
    steps: steps.map((step) => ({
      goal: step.goal,
      done: isDone(step),
      commands: migrationCommands(step.changes),
      byHand: step.byHand,
      ...(migrationNotes(step).length > 0 ? { notes: migrationNotes(step) } : {}),
    })),
  };
}

/** How many nodes are named. */
const NAMES = 6;

function nodeTable({ nodes }: RoleAnalysis, look: Look): string[] {
  const alike = Map.groupBy(nodes, ({ labels, taints }) => `${labels} ${taints}`);
  const rows = [...alike.values()].flatMap((group) => {
    const [first] = group;
    const names = group.map(({ name }) => name);
    return first ? [[String(group.length), first.labels, first.taints, namesIn(names, NAMES, look)]] : [];
  });
  return rows.length > 0 ? [columns([['NODES', 'LABELS', 'TAINTS', 'WHICH'], ...rows], look)] : [];
}

function workloadTable({ workloads }: RoleAnalysis, look: Look): string[] {
  const rows = workloads.map(({ workload, tolerates, selectsByOldLabel }) => [
    printable(workloadName(workload)),
    tolerates,
    selectsByOldLabel ? 'old' : '-',
    printable(workload.managedBy ?? '-'),
  ]);
  return rows.length > 0 ? [columns([['WORKLOAD', 'TOLERATES', 'SELECTS BY', 'MANAGED BY'], ...rows], look)] : [];
}

function checklist(steps: readonly MigrationStep[]): string {
  const lines = steps.flatMap((step, index) => [
    `[${isDone(step) ? 'x' : ' '}] ${index + 1}. ${step.goal}`,
    ...ownersOf(step).map(
      (owner) => `      # ${owner} manages some of these: change it there, or the change is reverted`,
    ),
    ...migrationNotes(step).map((note) => `      # ${printable(note)}`),
    ...migrationCommands(step.changes).map((command) => `      ${command}`),
    ...step.byHand.map((line) => `      by hand: ${printable(line)}`),
  ]);
  return `${[...lines, '', steps.every(isDone) ? 'No step is left.' : 'Go from top to bottom, wait for rollouts, then run this again.'].join('\n')}\n`;
}

function ownersOf({ changes }: MigrationStep): string[] {
  const owners = changes.flatMap((change) => (change.kind === 'template' ? (change.workload.managedBy ?? []) : []));
  return [...new Set(owners)].map(printable);
}
