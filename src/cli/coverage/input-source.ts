import { Command } from 'commander';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { InputError } from '../../files/input-error.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { type FilenameOptions, filenameOption, givenFiles } from '../options.ts';
import { withProgress } from '../output/stderr.ts';
import { readCluster } from './cluster-input.ts';
import type { CoverageInput, CoverageReading } from './coverage-input.ts';
import { readFiles } from './file-input.ts';
import { type SelectionOptions, selectFrom } from './selected-input.ts';

/** The input of the coverage commands: files, or a cluster. */
export interface SourceOptions extends ClusterChoice, FilenameOptions {}

/** A command that reads files or a cluster. */
export function sourceCommand(name: string): Command {
  return new Command(name)
    .argument(
      '[file...]',
      'YAML or JSON files, or directories of them (without subdirectories), in place of a cluster; - is standard input',
    )
    .addOption(filenameOption())
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context());
}

/**
 * The files to read; none: a cluster. Commander's `conflicts` covers options only, and a file is an argument.
 * @throws InputError
 */
export function filesOf(args: readonly string[], options: SourceOptions): string[] {
  const files = givenFiles(args, options);
  if (files.length > 0 && (options.kubeconfig ?? options.context) !== undefined) {
    throw new InputError(['files replace a cluster: leave out --kubeconfig and --context, or the files']);
  }
  return files;
}

/**
 * The selected nodes and DaemonSets of the files, or of a cluster if there are no files.
 * @throws InputError, ApiError, MalformedObjectError
 */
export async function readCoverage(
  files: readonly string[],
  options: SourceOptions & SelectionOptions,
  reading: CoverageReading,
): Promise<CoverageInput> {
  const { namespace = [] } = options;
  if (files.length > 0) return selectFrom(await readFiles(files, namespace, reading), options, 'files');
  const input = await atCluster(options, (client) =>
    withProgress('reading the cluster', readCluster(client, namespace, reading)),
  );
  return selectFrom(input, options, 'cluster');
}
