import type { Command } from 'commander';
import { analyzeRoles } from '../coverage/role-analysis.ts';
import { planMigration } from '../coverage/role-migration.ts';
import { readDocuments } from '../files/documents.ts';
import { atCluster } from './cluster-options.ts';
import { migrationFrom, readMigration } from './coverage-migrate-input.ts';
import { formatMigration, isDone } from './coverage-migrate-output.ts';
import { filesOf, type SourceOptions, sourceCommand } from './coverage-options.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';
import { withProgress } from './output.ts';

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
Exit code: 0 nothing is left to do, 1 some steps are left, 2 the input or the cluster could not be read.`,
    )
    .action(async (args: readonly string[], options: MigrateOptions) => {
      const isAllDone = await migrate(filesOf(args, options), options);
      exit(isAllDone ? EXIT.ok : EXIT.problem);
    });
}

/** @returns whether nothing is left to do */
async function migrate(files: readonly string[], options: MigrateOptions): Promise<boolean> {
  const { facts, notes } = await (files.length > 0
    ? readDocuments(files).then((documents) => migrationFrom(documents, 'default'))
    : atCluster(options, (client) => withProgress('reading the cluster', readMigration(client))));
  const steps = planMigration(facts);
  process.stdout.write(formatMigration({ roles: analyzeRoles(facts), steps, notes }, options.output));
  return steps.every(isDone);
}
