import { Command, Option } from 'commander';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { fixGaps, ROLE_TAINT_KEYS } from '../coverage/fix.ts';
import { gapsOf, reportCoverage } from '../coverage/report.ts';
import { planMigration } from '../coverage/role-migration.ts';
import { surveyRoles } from '../coverage/role-survey.ts';
import { readDocuments } from '../files/documents.ts';
import { InputError } from '../files/text-files.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { atCluster, CLUSTER_OPTIONS } from './cluster-options.ts';
import { POD_CHOICES, type PodChoice, readCluster } from './coverage-cluster.ts';
import { FIX_FORMS, type FixForm, printFix } from './coverage-fix-output.ts';
import { type CoverageInput, choose, coverageFrom } from './coverage-input.ts';
import { formatCoverage } from './coverage-output.ts';
import { coverTolerating } from './coverage-tolerate.ts';
import { migrationFrom, readMigration } from './migration-input.ts';
import { formatMigration, isDone } from './migration-output.ts';
import { EXIT, filenameOption, type OutputFormat, outputOption, repeatable } from './options.ts';
import { asComments, asJson, tellAll, withProgress } from './output.ts';

/** What `taintkeeper coverage` was asked. */
interface CoverageOptions extends ClusterChoice {
  readonly filename?: readonly string[];
  readonly namespace?: readonly string[];
  readonly daemonset?: readonly string[];
  readonly node?: readonly string[];
  readonly pods: PodChoice;
  readonly groups: boolean;
  readonly gaps: boolean;
  readonly fix: boolean;
  readonly migrate: boolean;
  readonly as?: FixForm;
  readonly tolerate: boolean;
  readonly policies?: readonly string[];
  readonly taint?: readonly string[];
  readonly output: OutputFormat;
}

/** `taintkeeper coverage`: where DaemonSets run, what keeps them off other nodes, and what changes it. */
export function coverageCommand(exit: (code: number) => void): Command {
  return new Command('coverage')
    .description(
      'Show which DaemonSets run on which nodes, and what keeps them off the others. Looks at a cluster, or at files with Nodes and DaemonSets. Changes nothing.',
    )
    .argument(
      '[file...]',
      'YAML or JSON, or directories of it (without subdirectories), in place of a cluster; - is standard input',
    )
    .addOption(filenameOption())
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .option(
      '-n, --namespace <name>',
      'only the DaemonSets of this namespace; * is any text; may be repeated',
      repeatable,
    )
    .option('--daemonset <name>', 'only this DaemonSet; * is any text; may be repeated', repeatable)
    .option('--node <name>', 'only this node; * is any text; may be repeated', repeatable)
    .addOption(
      new Option('--pods <which>', 'look for pods of all DaemonSets, of none, or of those whose status is inconsistent')
        .choices(POD_CHOICES)
        .default('auto'),
    )
    .option('--no-groups', 'show each node by itself, not together with those that are alike')
    .option('--gaps', 'show only the DaemonSets that taints keep off nodes', false)
    .option('--fix', 'print what closes the gaps', false)
    .addOption(
      new Option(
        '--as <form>',
        'with --fix: TolerationPolicies (the default), kubectl patch commands, values for the Helm charts of Cilium, Flannel and Calico, or a component of Kustomize',
      ).choices(FIX_FORMS),
    )
    .option(
      '--taint <key>',
      "with --fix: a taint to tolerate besides the control plane's; * is any text; with --tolerate: a key, in place of policies; may be repeated",
      repeatable,
    )
    .option(
      '--tolerate',
      'show whose pods tolerate a key that only the authorized may, and are not authorized; with --fix, print what authorizes them',
      false,
    )
    .option(
      '--policies <path>',
      'with --tolerate: policy file, or directory of them; may be repeated (default: the policies in the cluster)',
      repeatable,
    )
    .option(
      '--migrate',
      'print what is left to do from the taint and label master to control-plane, in a safe order',
      false,
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A DaemonSet runs on a group of nodes, or is kept off by a taint, by its own selector, affinity or nodeName; or it waits, as long as
taints are there that come and go by themselves. Of a cluster, "runs 2/3" has pods on two of three nodes, and "taint (1 stay)" has one
on a node that would get none today.

Exit code: 0 no gaps (with --fix, what closes them is printed; with --migrate, nothing is left to do; with --tolerate, all are
authorized), 1 a taint keeps a DaemonSet off a node that it would run on, or somebody is not authorized, 2 it could not be looked at.

Examples:
  taintkeeper coverage --gaps                               where something is missing, in the current context
  taintkeeper coverage --fix | kubectl apply -f -           and let taintkeeper close the gaps
  taintkeeper coverage --fix --as helm-values -n cilium     or change the values of its chart
  taintkeeper coverage --tolerate --taint dedicated         whose pods a rule with tolerate: Authorized would refuse
  taintkeeper coverage --migrate                            from the taint master to control-plane, as a checked list
  kubectl get nodes -o json > nodes.json                    what of a chart, before it is installed:
  helm template cilium cilium/cilium -n kube-system | taintkeeper coverage -n kube-system nodes.json -`,
    )
    .action(async (args: readonly string[], options: CoverageOptions) => {
      const files = [...args, ...(options.filename ?? [])];
      refuseIdleOptions(files, options);
      const show = options.migrate ? migrate : options.tolerate ? coverTolerating : cover;
      const isFine = await show(files, options);
      exit(isFine ? EXIT.ok : EXIT.trouble);
    });
}

/**
 * An option that would do nothing is a misunderstanding.
 * @throws InputError
 */
function refuseIdleOptions(files: readonly string[], options: CoverageOptions): void {
  const {
    kubeconfig,
    context,
    pods,
    fix,
    gaps,
    groups,
    migrate,
    taint,
    as,
    namespace,
    daemonset,
    node,
    tolerate,
    policies,
  } = options;
  const faults = [
    ...(files.length > 0 && (kubeconfig ?? context) !== undefined
      ? ['files replace a cluster: leave out --kubeconfig and --context, or the files']
      : []),
    ...(files.length > 0 && pods !== 'auto' ? ['--pods needs a cluster, not files'] : []),
    ...(taint && !fix && !tolerate ? ['--taint needs --fix or --tolerate'] : []),
    ...(as && !fix ? ['--as needs --fix'] : []),
    ...(as && tolerate ? ['--as is not for --tolerate: leave it out'] : []),
    ...(policies && !tolerate ? ['--policies needs --tolerate'] : []),
    ...(policies && taint ? ['--taint stands in place of policies: leave out --policies'] : []),
    ...(tolerate && (gaps || migrate || daemonset || node || pods !== 'auto' || !groups)
      ? ['--tolerate takes --namespace, --taint, --policies and --fix: leave out the others']
      : []),
    ...(migrate && (fix || gaps) ? ['--migrate cannot be combined with --fix or --gaps'] : []),
    ...(migrate && (namespace || daemonset || node)
      ? ['--migrate is about the whole cluster: leave out --namespace, --daemonset and --node']
      : []),
  ];
  if (faults.length > 0) throw new InputError(faults);
}

/** @returns whether there are no gaps, or the policies that close them are printed */
async function cover(files: readonly string[], options: CoverageOptions): Promise<boolean> {
  const read =
    files.length > 0
      ? readFiles(files, options)
      : atCluster(options, (client) => withProgress('reading the cluster', readLive(options)(client)));
  const input = choose(await read, options, files.length > 0 ? 'files' : 'cluster');
  const { notes, tolerationPolicies } = input;
  const gaps = gapsOf(input);
  const report = reportCoverage({ ...input, grouped: options.groups || options.fix, onlyGaps: options.gaps });
  if (!options.fix) {
    process.stdout.write(formatCoverage(report, { notes, grouped: options.groups, format: options.output }));
    return gaps.every(({ passing }) => passing);
  }
  const fix = fixGaps(gaps, [...ROLE_TAINT_KEYS, ...(options.taint ?? [])], tolerationPolicies);
  const { comments, text, data } = printFix(fix, options.as ?? 'policies', { report, notes });
  if (options.output === 'json') {
    process.stdout.write(asJson(data));
    // JSON has no comments.
    tellAll(comments);
  } else {
    process.stdout.write(`${asComments(comments)}${text}`);
    // Piped into kubectl, nobody reads the comments; they say what is left to do.
    if (!process.stdout.isTTY && process.stderr.isTTY) tellAll(comments);
  }
  return true;
}

/** @returns whether nothing is left to do */
async function migrate(files: readonly string[], options: CoverageOptions): Promise<boolean> {
  const { facts, notes } = await (files.length > 0
    ? readDocuments(files).then((documents) => migrationFrom(documents, 'default'))
    : atCluster(options, (client) => withProgress('reading the cluster', readMigration(client))));
  const steps = planMigration(facts);
  process.stdout.write(formatMigration({ survey: surveyRoles(facts), steps, notes }, options.output));
  return steps.every(isDone);
}

async function readFiles(files: readonly string[], { namespace = [] }: CoverageOptions): Promise<CoverageInput> {
  // One namespace is that of manifests that name none; of several, it could be any.
  const [only = 'default', ...others] = namespace;
  return coverageFrom(await readDocuments(files), others.length > 0 || isPattern(only) ? 'default' : only);
}

function readLive({ namespace = [], pods, fix, as = 'policies' }: CoverageOptions) {
  return (client: ApiClient) => readCluster(client, namespace, pods, fix && as === 'policies');
}
