import { groupsBy } from '../../../collections/groups-by.ts';
import { workloadName } from '../../../coverage/workload.ts';
import { NEW_ROLE, OLD_ROLE } from '../../../kubernetes/roles.ts';
import { migrationCommands } from '../../../role-migration/migration-commands.ts';
import { type MigrationStep, migrationNotes } from '../../../role-migration/migration-plan.ts';
import type { RoleAnalysis } from '../../../role-migration/role-analysis.ts';
import { printable } from '../../../text/printable.ts';
import type { OutputFormat } from '../../options.ts';
import { formatAs } from '../../output/format.ts';
import type { Look } from '../../output/look.ts';
import { columns, namesIn } from '../../output/table.ts';

interface Migration {
  readonly roles: RoleAnalysis;
  readonly steps: readonly MigrationStep[];
}

/** The result of `taintkeeper coverage migrate` as text. */
export function formatMigration(migration: Migration, format: OutputFormat): string {
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
export function isDone({ changes, byHand }: MigrationStep): boolean {
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
  const rows = groupsBy(nodes, ({ labels, taints }) => `${labels} ${taints}`).map((alike) => {
    const [{ labels, taints }] = alike;
    const names = alike.map(({ name }) => name);
    return [String(alike.length), labels, taints, namesIn(names, NAMES, look)];
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
