import { Command } from 'commander';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { InputError } from '../../files/text-files.ts';
import { isPattern } from '../../kubernetes/pattern.ts';
import { CLUSTER_OPTIONS } from '../cluster-options.ts';
import { filenameOption, repeatable } from '../options.ts';

/** The input of the coverage commands: files, or a cluster. */
export interface SourceOptions extends ClusterChoice {
  readonly filename?: readonly string[];
}

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
export function filesOf(args: readonly string[], { filename = [], kubeconfig, context }: SourceOptions): string[] {
  const files = [...args, ...filename];
  if (files.length > 0 && (kubeconfig ?? context) !== undefined) {
    throw new InputError(['files replace a cluster: leave out --kubeconfig and --context, or the files']);
  }
  return files;
}

/** The namespace of manifests that name none: the requested one, where exactly one is requested. */
export function absentNamespace([only = 'default', ...others]: readonly string[] = []): string {
  return others.length > 0 || isPattern(only) ? 'default' : only;
}

/** The lists of a resource in these namespaces; in all of them if there are none, or patterns. */
export function pathsOf(apiVersion: string, resource: string, namespaces: readonly string[]): string[] {
  if (namespaces.length === 0 || namespaces.some(isPattern)) return [`/apis/${apiVersion}/${resource}`];
  return [...new Set(namespaces)].map(
    (namespace) => `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${resource}`,
  );
}

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
