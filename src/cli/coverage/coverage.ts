import type { Command } from 'commander';
import { criticalWithoutPriority, pendingOnFullNodes } from '../../coverage/findings/priority.ts';
import { wideTolerations } from '../../coverage/findings/wide-tolerations.ts';
import { reportCoverage } from '../../coverage/report.ts';
import { InputError } from '../../files/input-error.ts';
import { givenOptions, type OutputFormat, outputOption } from '../options.ts';
import { EXIT } from '../process.ts';
import type { CoverageInput } from './coverage-input.ts';
import { formatCoverage } from './coverage-text.ts';
import { fixCommand } from './fix.ts';
import { filesOf, readCoverage, type SourceOptions, sourceCommand } from './input-source.ts';
import { migrateCommand } from './migrate/migrate.ts';
import { type SelectionOptions, withSelection } from './selected-input.ts';

interface CoverageOptions extends SourceOptions, SelectionOptions {
  readonly gaps: boolean;
  readonly output: OutputFormat;
}

/** `taintkeeper coverage`: shows where DaemonSets run, and what keeps them off other nodes. */
export function coverageCommand(exit: (code: number) => void): Command {
  return withSelection(sourceCommand('coverage'))
    .description(
      'Show which DaemonSets run on which nodes, and why they do not run on the others. Reads a cluster, or files with Nodes and DaemonSets. Changes nothing.',
    )
    .option('--gaps', 'show only the DaemonSets that taints keep off nodes', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A DaemonSet runs on a group of nodes, or is kept off by a taint, or by its own selector, affinity or nodeName. It waits while only
taints that controllers set and remove themselves keep it off. --node shows each of its nodes by itself, with what it has instead. In a cluster, "runs 2/3" has pods on two of three nodes, and
"taint (1 stay)" has a pod on a node that would get none today.

Deployments, StatefulSets and CronJobs are listed if their pods return to drained nodes, because they tolerate the taint of a cordon, of
Karpenter or of the Cluster Autoscaler, or stay bound to dead nodes, because they tolerate not-ready or unreachable with NoExecute and
without tolerationSeconds. --gaps, --daemonset and --node leave this list out. The device taints of Dynamic Resource Allocation are out
of scope.

Exit code: 0 no gaps, 1 a taint keeps a DaemonSet off a node that it would run on, or the API server would refuse a DaemonSet of a
file, 2 the input or the cluster could not be read. A file that cannot be read, such as a template of Helm, is named on standard error,
and the others are compared.

Examples:
  taintkeeper coverage --gaps                            show the gaps of the cluster
  taintkeeper coverage fix | kubectl apply -f -          have taintkeeper close the gaps
  taintkeeper coverage migrate                           from the taint master to control-plane, as a checked list
  kubectl get nodes -o json > nodes.json                 check a chart before it is installed:
  helm template cilium cilium/cilium -n kube-system | taintkeeper coverage -n kube-system nodes.json -`,
    )
    .action(async (args: readonly string[], options: CoverageOptions) => {
      const hasGaps = await cover(filesOf(args, options), options);
      exit(hasGaps ? EXIT.problem : EXIT.ok);
    })
    .addCommand(fixCommand())
    .addCommand(migrateCommand(exit))
    .hook('preSubcommand', refuseOptionsBefore);
}

/**
 * An option of `coverage` itself has no effect on a command below it.
 * @throws InputError
 */
function refuseOptionsBefore(coverage: Command, subcommand: Command): void {
  const [first] = givenOptions(coverage);
  if (!first) return;
  const name = `coverage ${subcommand.name()}`;
  throw new InputError([
    `${first.long} stands before ${subcommand.name()}: options of ${name} follow it (taintkeeper ${name} --help)`,
  ]);
}

function priorities({ daemonSets, placements }: CoverageInput) {
  return {
    critical: criticalWithoutPriority(daemonSets),
    crowdedOut: pendingOnFullNodes(daemonSets, placements),
  };
}

/**
 * @returns whether there are gaps, or DaemonSets that the API server would refuse
 * @throws InputError after the output, if files could not be read
 */
async function cover(files: readonly string[], options: CoverageOptions): Promise<boolean> {
  const { gaps: onlyGaps, node, output: format } = options;
  const grouped = node === undefined;
  // A selection is a question about these DaemonSets and nodes.
  const workloads = !onlyGaps && !options.daemonset && grouped;
  const input = await readCoverage(files, options, {
    policies: ['TaintPolicy', 'TolerationPolicy'],
    pods: true,
    workloads,
  });
  const report = reportCoverage({ ...input, grouped, onlyGaps });
  process.stdout.write(
    formatCoverage(report, {
      refused: input.refused,
      notes: input.notes,
      grouped,
      format,
      ...(onlyGaps ? {} : priorities(input)),
      ...(input.workloads ? { wideTolerations: wideTolerations(input.workloads) } : {}),
    }),
  );
  if (input.unread.length > 0) throw new InputError(input.unread);
  return input.refused.length > 0 || report.gaps.some(({ passing }) => !passing);
}
