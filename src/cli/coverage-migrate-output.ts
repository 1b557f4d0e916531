import type { RoleAnalysis } from '../coverage/role-analysis.ts';
import type { Workload } from '../coverage/role-facts.ts';
import { type MigrationStep, migrationCommands, nameOf } from '../coverage/role-migration.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { printable } from '../kubernetes/text.ts';
import type { OutputFormat } from './options.ts';
import { columns, formatAs, type Look, namesIn } from './output.ts';

interface Migration {
  readonly roles: RoleAnalysis;
  readonly steps: readonly MigrationStep[];
  readonly notes: readonly string[];
}

/** The result of `taintkeeper coverage migrate` as text. */
export function formatMigration(migration: Migration, format: OutputFormat): string {
  return formatAs(format, { data: () => data(migration), table: (look) => table(migration, look) });
}

function table({ roles, steps, notes }: Migration, look: Look): string {
  return [
    `old: ${OLD_ROLE}\nnew: ${NEW_ROLE}\n`,
    ...nodeTable(roles, look),
    ...workloadTable(roles, look),
    checklist(steps),
    ...notes.map((note) => `note: ${printable(note)}\n`),
  ].join('\n');
}

/** Whether a step is done. */
export function isDone({ changes, byHand }: MigrationStep): boolean {
  return changes.length + byHand.length === 0;
}

function data({ roles, steps, notes }: Migration): object {
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
    })),
    notes,
  };
}

/** How many nodes are named. */
const NAMES = 6;

function nodeTable({ nodes }: RoleAnalysis, look: Look): string[] {
  const alike = Map.groupBy(nodes, ({ labels, taints }) => `${labels} ${taints}`);
  const rows = [...alike.values()].flatMap((found) => {
    const [first] = found;
    const names = found.map(({ name }) => name);
    return first ? [[String(found.length), first.labels, first.taints, namesIn(names, NAMES, look)]] : [];
  });
  return rows.length > 0 ? [columns([['NODES', 'LABELS', 'TAINTS', 'WHICH'], ...rows], look)] : [];
}

function workloadTable({ workloads }: RoleAnalysis, look: Look): string[] {
  const rows = workloads.map(({ workload, tolerates, selectsByOldLabel }) => [
    printable(nameOf(workload)),
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
    ...migrationCommands(step.changes).map((command) => `      ${command}`),
    ...step.byHand.map((line) => `      by hand: ${printable(line)}`),
  ]);
  return `${[...lines, '', steps.every(isDone) ? 'No step is left.' : 'Go from top to bottom, wait for rollouts, then run this again.'].join('\n')}\n`;
}

function ownersOf({ changes }: MigrationStep): string[] {
  const owners = changes.flatMap((change) => (change.kind === 'template' ? managerOf(change.workload) : []));
  return [...new Set(owners)];
}

function managerOf({ managedBy }: Workload): string[] {
  return managedBy === undefined ? [] : [printable(managedBy)];
}
