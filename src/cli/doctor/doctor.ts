import { Command, Option } from 'commander';
import type { UserClient } from '../../cluster/client/api-client.ts';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { webSocketHandler } from '../../cluster/port-forward/tunnel.ts';
import type { CheckResult } from '../../doctor/check.ts';
import { CHECKS, IS_INSTALLED } from '../../doctor/checks.ts';
import { diagnose } from '../../doctor/diagnosis.ts';
import type { InstallationChoice } from '../../doctor/facts/choose-installation.ts';
import { gatherFacts } from '../../doctor/facts/gather.ts';
import { runChecks } from '../../doctor/run-checks.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { type OutputFormat, outputOption } from '../options.ts';
import { usesColors } from '../output/look.ts';
import { withProgress } from '../output/stderr.ts';
import { exitCodeOf, formatDiagnosis } from './diagnosis.ts';

interface DoctorOptions extends ClusterChoice, InstallationChoice {
  readonly output: OutputFormat;
  readonly all?: true;
}

/** `taintkeeper doctor` */
export function doctorCommand(exit: (code: number) => void): Command {
  return new Command('doctor')
    .description(
      'Find out whether certificate, network or configuration is at fault, and what to do about it. Changes nothing.',
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(new Option('-n, --namespace <name>', "taintkeeper's namespace (default: where it is found)"))
    .option('--all', 'show passing checks too')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Finds the installation in the cluster, and prints each problem with its evidence. The line below a problem says what to do. The
cause comes first: installation, certificate, network, or configuration. "healthy" means that no check found a problem, "unknown"
that something essential could not be read, such as the policies, the nodes or the DaemonSets. Calls the replicas directly or by a
port-forward, and through the API server. A dry run of a request shows whether the API server calls the webhook. If talosctl cannot
connect, use "taintkeeper talos doctor".

Exit code: 0 healthy, 1 a problem was found, 2 could not determine the state (connection or permission error, or no answer in time).`,
    )
    .action(async (options: DoctorOptions) => {
      const diagnosis = diagnose(
        await withProgress('checking certificates, network and configuration', examine(options)),
      );
      const look = { all: options.all ?? false, colors: usesColors(process.stdout) };
      process.stdout.write(formatDiagnosis(diagnosis, options.output, look));
      exit(exitCodeOf(diagnosis));
    });
}

function examine({ namespace, ...cluster }: DoctorOptions): Promise<CheckResult[]> {
  const examineAt = async (client: UserClient) => {
    const facts = await gatherFacts(client, await webSocketHandler(cluster), { namespace });
    return facts.installation === undefined ? runChecks([IS_INSTALLED], facts) : runChecks(CHECKS, facts);
  };
  return atCluster(cluster, examineAt, { namesServer: true });
}
