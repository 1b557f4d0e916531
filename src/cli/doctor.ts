import { Command } from 'commander';
import { stringify } from 'yaml';
import { findConfig, loadConfig } from '../cluster/client/kube-config.ts';
import { type CheckResult, type Diagnosis, diagnose, runChecks, type Verdict } from '../doctor/check.ts';
import { CHECKS } from '../doctor/checks.ts';
import { gatherFacts } from '../doctor/gather.ts';
import { InputError } from '../files/text-files.ts';
import { printable } from '../kubernetes/text.ts';
import { CLUSTER_OPTIONS, type ClusterOptions, openCluster } from './cluster-options.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';
import { columns, withProgress } from './output.ts';

/** The verdict, and then every check: what was seen and, in the line below, what mends it. */
export function formatDiagnosis(diagnosis: Diagnosis, output: OutputFormat): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(diagnosis, null, 2)}\n`;
    case 'yaml':
      return stringify(diagnosis);
    case 'table':
      return `${diagnosis.verdict}: ${printable(diagnosis.summary)}\n\n${columns([
        ['AREA', 'CHECK', 'STATE', 'EVIDENCE'],
        ...diagnosis.checks.flatMap(rows),
      ])}`;
  }
}

function rows({ area, name, state, evidence, remedy }: CheckResult): string[][] {
  return [
    [area, name, state, printable(evidence)],
    ...(remedy === undefined ? [] : [['', '', '', `-> ${printable(remedy)}`]]),
  ];
}

/** `taintkeeper doctor`: which of certificate, network and configuration is to blame, and what to do. */
export function doctorCommand(exit: (code: number) => void): Command {
  return new Command('doctor')
    .description(
      'Say which of certificate, network and configuration is to blame, and what mends it. Nothing is changed.',
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .addOption(CLUSTER_OPTIONS.service())
    .addOption(CLUSTER_OPTIONS.secret())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The verdict comes first: healthy, certificate, network, configuration, or unknown. Then every check, with what was seen and,
in the line below it, what to do. Replicas are called directly or by a port-forward, and by the API server; a dry run of
a request shows whether the webhook is asked.

Exit code: 0 healthy, 1 trouble, 2 it could not be looked at: no cluster, or no right to see what is essential.`,
    )
    .action(async (options: ClusterOptions & { output: OutputFormat }) => {
      const diagnosis = diagnose(
        await withProgress('looking at certificates, network and configuration', examine(options)),
      );
      process.stdout.write(formatDiagnosis(diagnosis, options.output));
      exit(EXIT_CODES[diagnosis.verdict]);
    });
}

const EXIT_CODES: Readonly<Record<Verdict, number>> = {
  healthy: EXIT.ok,
  certificate: EXIT.trouble,
  network: EXIT.trouble,
  configuration: EXIT.trouble,
  unknown: EXIT.badInput,
};

async function examine(options: ClusterOptions): Promise<CheckResult[]> {
  const { client, namespace } = await openCluster(options);
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const { WebSocketHandler } = await import('@kubernetes/client-node/dist/web-socket-handler.js');
  const sockets = new WebSocketHandler(loadConfig(findConfig(options), KubeConfig));
  const place = { namespace, service: options.service, secret: options.secret };
  try {
    return runChecks(CHECKS, await gatherFacts(client, sockets, place));
  } catch (error) {
    throw error instanceof InputError ? error : new InputError([`${client.server}: ${(error as Error).message}`]);
  } finally {
    client.close();
  }
}
