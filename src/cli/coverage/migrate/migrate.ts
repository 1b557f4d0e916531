import type { Command } from 'commander';
import { planMigration } from '../../../role-migration/migration-plan.ts';
import { analyzeRoles } from '../../../role-migration/role-analysis.ts';
import { atCluster } from '../../cluster-options.ts';
import { type OutputFormat, outputOption } from '../../options.ts';
import { withProgress } from '../../output/stderr.ts';
import { EXIT } from '../../process.ts';
import { filesOf, type SourceOptions, sourceCommand } from '../input-source.ts';
import { formatMigration, isDone } from './migration-text.ts';
import { readMigrationCluster, readMigrationFiles } from './read-migration.ts';

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
    ? readMigrationFiles(files)
    : atCluster(options, (client) => withProgress('reading the cluster', readMigrationCluster(client))));
  const steps = planMigration(facts);
  process.stdout.write(formatMigration({ roles: analyzeRoles(facts), steps }, options.output));
  return steps.every(isDone);
}
