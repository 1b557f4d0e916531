import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { InputError } from '../files/text-files.ts';
import type { PodChoice } from './coverage-cluster.ts';
import type { OutputFormat } from './options.ts';

/** What `taintkeeper coverage` was asked. */
export interface CoverageOptions extends ClusterChoice {
  readonly namespace?: readonly string[];
  readonly daemonset?: readonly string[];
  readonly node?: readonly string[];
  readonly pods: PodChoice;
  readonly groups: boolean;
  readonly gaps: boolean;
  readonly fix: boolean;
  readonly migrate: boolean;
  readonly taint?: readonly string[];
  readonly output: OutputFormat;
}

/**
 * An option that would do nothing is a misunderstanding.
 * @throws InputError
 */
export function refuseIdleOptions(files: readonly string[], options: CoverageOptions): void {
  const { kubeconfig, context, pods, fix, gaps, migrate, taint, namespace, daemonset, node } = options;
  const faults = [
    ...(files.length > 0 && (kubeconfig ?? context) !== undefined
      ? ['files are looked at in place of a cluster: leave out --kubeconfig and --context, or the files']
      : []),
    ...(files.length > 0 && pods !== 'auto' ? ['--pods is about a cluster, and there are files'] : []),
    ...(taint && !fix ? ['--taint needs --fix'] : []),
    ...(migrate && (fix || gaps) ? ['--migrate goes without --fix and --gaps'] : []),
    ...(migrate && (namespace || daemonset || node)
      ? ['--migrate is about the whole cluster: leave out --namespace, --daemonset and --node']
      : []),
  ];
  if (faults.length > 0) throw new InputError(faults);
}
