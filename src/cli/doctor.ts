import { styleText } from 'node:util';
import { Command, Option } from 'commander';
import type { UserClient } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { webSocketHandler } from '../cluster/tunnel.ts';
import type { CheckResult } from '../doctor/check.ts';
import { CHECKS, IS_INSTALLED } from '../doctor/checks.ts';
import { type Diagnosis, type DiagnosisResult, diagnose, problemsOf } from '../doctor/diagnosis.ts';
import { gatherFacts } from '../doctor/gather.ts';
import type { InstallationChoice } from '../doctor/installation.ts';
import { runChecks } from '../doctor/run-checks.ts';
import type { Level } from '../explain/sections.ts';
import { count, printable } from '../kubernetes/text.ts';
import { atCluster, CLUSTER_OPTIONS } from './cluster-options.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';
import { columns, formatAs, type Look, type TableCell, usesColors, withProgress } from './output.ts';

interface DoctorOptions extends ClusterChoice, InstallationChoice {
  readonly output: OutputFormat;
  readonly all?: true;
}

/**
 * The diagnosis as text.
 * @param all also the checks without a problem
 */
export function formatDiagnosis(
  diagnosis: Diagnosis,
  output: OutputFormat,
  { all = false, colors = false } = {},
): string {
  return formatAs(output, {
    data: () => diagnosis,
    table: (look) => (all ? everything(diagnosis, look) : complaints(diagnosis, colors)),
  });
}

/** The result, and then every check with its evidence. The line below a check says what to do. */
function everything({ result, summary, checks }: Diagnosis, look: Look): string {
  return `${result}: ${printable(summary)}\n\n${columns(
    [['AREA', 'CHECK', 'STATE', 'EVIDENCE'], ...checks.flatMap(rows)],
    look,
  )}`;
}

const LEVELS: Readonly<Record<CheckResult['state'], Level>> = {
  ok: 'ok',
  problem: 'failed',
  note: 'attention',
  skipped: 'quiet',
};

function rows({ area, name, state, evidence, remedy }: CheckResult): TableCell[][] {
  return [
    [area, name, { text: state, level: LEVELS[state] }, printable(evidence)],
    ...(remedy === undefined ? [] : [['', '', '', `-> ${printable(remedy)}`]]),
  ];
}

type Style = Parameters<typeof styleText>[0];

/** Problems and notes, the cause first. The line below each says what to do. */
function complaints({ result, summary, checks }: Diagnosis, colors: boolean): string {
  const paint = (style: Style, text: string) => (colors ? styleText(style, text, { validateStream: false }) : text);
  const problems = problemsOf(checks);
  const notes = checks.filter(({ state }) => state === 'note');
  const skipped = checks.filter(({ state }) => state === 'skipped');
  const isSaid = ({ name, evidence }: CheckResult) => `${name}: ${evidence}` === summary;
  const unseen = result === 'unknown' ? skipped.filter((check) => !isSaid(check)) : [];
  const wayOut = result === 'unknown' ? skipped.find(isSaid)?.remedy : undefined;
  const said = (style: Style, kind: (check: CheckResult) => string) => (check: CheckResult) =>
    [
      `${paint(style, kind(check))} ${check.name === check.area ? '' : `${check.name}: `}${printable(check.evidence)}\n`,
      ...(check.remedy === undefined ? [] : [`  -> ${paint('bold', printable(check.remedy))}\n`]),
    ].join('');
  const resultLine = `${paint(result === 'healthy' ? 'green' : 'yellow', `${result}:`)} ${printable(summary)}\n`;
  const hidden = [
    `${count(checks.filter(({ state }) => state === 'ok').length, 'check')} ok`,
    ...(skipped.length > 0 && result !== 'unknown' ? [`${skipped.length} skipped`] : []),
  ].join(', ');
  return [
    ...(problems.length > 0 ? [] : [resultLine]),
    ...(wayOut === undefined ? [] : [`  -> ${paint('bold', printable(wayOut))}\n`]),
    ...problems.map(said(['red', 'bold'], ({ area }) => `${area}:`)),
    ...notes.map(said('yellow', () => 'note:')),
    ...unseen.map(said('yellow', () => 'skipped:')),
    ...((result === 'healthy' && skipped.length === 0) || checks.length === 1
      ? []
      : [paint('dim', `${hidden}; --all shows every check\n`)]),
  ].join('');
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
    .addOption(new Option('--secret <name>', 'the Secret with the certificates (default: as its Deployment says)'))
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

/** 0 healthy, 1 a problem was found, 2 could not determine the state. */
export function exitCodeOf({ result }: Diagnosis): number {
  return EXIT_CODES[result];
}

const EXIT_CODES: Readonly<Record<DiagnosisResult, number>> = {
  healthy: EXIT.ok,
  installation: EXIT.problem,
  certificate: EXIT.problem,
  network: EXIT.problem,
  configuration: EXIT.problem,
  unknown: EXIT.badInput,
};

function examine({ namespace, secret, ...cluster }: DoctorOptions): Promise<CheckResult[]> {
  const examineAt = async (client: UserClient) => {
    const facts = await gatherFacts(client, await webSocketHandler(cluster), { namespace, secret });
    return facts.installation === undefined ? runChecks([IS_INSTALLED], facts) : runChecks(CHECKS, facts);
  };
  return atCluster(cluster, examineAt, { namesServer: true });
}
