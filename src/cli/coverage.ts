import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { connect } from '../cluster/client/api-client.ts';
import { parseDocuments, type SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { readText } from '../files/read-text.ts';
import { fixGaps, ROLE_TAINT_KEYS } from '../policy/coverage-fix.ts';
import { gapsOf, reportCoverage } from '../policy/coverage-report.ts';
import { VERSION } from '../version.ts';
import { CLUSTER_OPTIONS } from './cluster-options.ts';
import { POD_CHOICES, type PodChoice, readCluster } from './coverage-cluster.ts';
import { formatFix } from './coverage-fix-output.ts';
import { type CoverageInput, choose, coverageFrom } from './coverage-input.ts';
import { formatCoverage } from './coverage-output.ts';
import { EXIT } from './exit.ts';
import { type OutputFormat, outputOption } from './output-format.ts';
import { withProgress } from './progress.ts';

interface CoverageOptions {
  readonly kubeconfig?: string;
  readonly namespace?: readonly string[];
  readonly daemonset?: readonly string[];
  readonly node?: readonly string[];
  readonly pods: PodChoice;
  readonly groups: boolean;
  readonly gaps: boolean;
  readonly fix: boolean;
  readonly taint?: readonly string[];
  readonly output: OutputFormat;
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `taintkeeper coverage`: where DaemonSets run, what keeps them off other nodes, and the policies that change it. */
export function coverageCommand(exit: (code: number) => void): Command {
  return new Command('coverage')
    .description(
      'Show which DaemonSets run on which nodes, and what keeps them off the others. Looks at a cluster, or at files with Nodes and DaemonSets. Changes nothing.',
    )
    .argument('[file...]', 'YAML or JSON in place of a cluster; - is standard input')
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .option('-n, --namespace <name>', 'only the DaemonSets of this namespace; may be repeated', collect)
    .option('--daemonset <name>', 'only this DaemonSet; * is any text; may be repeated', collect)
    .option('--node <name>', 'only this node; * is any text; may be repeated', collect)
    .addOption(
      new Option('--pods <which>', 'look for pods of all DaemonSets, of none, or of those whose status does not add up')
        .choices(POD_CHOICES)
        .default('auto'),
    )
    .option('--no-groups', 'show each node by itself, not together with those that are alike')
    .option('--gaps', 'show only the DaemonSets that taints keep off nodes', false)
    .option('--fix', 'print the TolerationPolicies that close the gaps', false)
    .option(
      '--taint <key>',
      "with --fix: a taint to tolerate besides the control plane's; * is any text; may be repeated",
      collect,
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A DaemonSet runs on a group of nodes, or is kept off by a taint, by its own selector, affinity or nodeName; or it waits, as long as
taints are there that come and go by themselves. Of a cluster, "runs 2/3" has pods on two of three nodes, and "taint (1 stay)" has one
on a node that would get none today.

Exit code: 0 no gaps, 1 a taint keeps a DaemonSet off a node that it would run on, 2 it could not be looked at.

Examples:
  taintkeeper coverage --gaps                               where something is missing, in the current context
  taintkeeper coverage --fix | kubectl apply -f -           and let taintkeeper close the gaps
  kubectl get nodes -o json > nodes.json                    what of a chart, before it is installed:
  helm template cilium cilium/cilium -n kube-system | taintkeeper coverage -n kube-system nodes.json -`,
    )
    .action(async (files: readonly string[], options: CoverageOptions) => {
      const input = choose(await readInput(files, options), options);
      const gaps = gapsOf(input);
      const report = reportCoverage({ ...input, grouped: options.groups || options.fix, onlyGaps: options.gaps });
      process.stdout.write(
        options.fix
          ? formatFix(fixGaps(gaps, [...ROLE_TAINT_KEYS, ...(options.taint ?? [])]), report, {
              notes: input.notes,
              format: options.output,
            })
          : formatCoverage(report, { notes: input.notes, grouped: options.groups, format: options.output }),
      );
      exit(gaps.some(({ passing }) => !passing) ? EXIT.trouble : EXIT.ok);
    });
}

async function readInput(files: readonly string[], options: CoverageOptions): Promise<CoverageInput> {
  if (files.length === 0) return withProgress('reading nodes and DaemonSets', readLive(options));
  if (options.kubeconfig !== undefined) {
    throw new InputError(['files are looked at in place of a cluster: leave out --kubeconfig, or the files']);
  }
  const documents = await Promise.all(files.map(readDocuments));
  const [namespace = 'default', ...others] = options.namespace ?? [];
  return coverageFrom(documents.flat(), others.length === 0 ? namespace : 'default');
}

async function readLive({ kubeconfig, namespace = [], pods }: CoverageOptions): Promise<CoverageInput> {
  const client = await connect({ kubeconfig, userAgent: `taintkeeper/${VERSION}` });
  try {
    return await readCluster(client, namespace, pods);
  } catch (error) {
    throw error instanceof InputError ? error : new InputError([(error as Error).message]);
  } finally {
    client.close();
  }
}

async function readDocuments(file: string): Promise<SourceDocument[]> {
  return file === '-'
    ? parseDocuments(await text(process.stdin), 'standard input')
    : parseDocuments(await readText(file), file);
}
