import { Command, Option } from 'commander';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { isWrittenByLeader, listNative, type NativeObject, servedVersions } from '../../cluster/native-policies.ts';
import { ADMISSION_REGISTRATION, CONFIGURATION_NAME, CONFIGURATIONS } from '../../cluster/webhook-configurations.ts';
import type { Level } from '../../explain/sections.ts';
import { InputError } from '../../files/text-files.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { atMost, count, printable } from '../../kubernetes/text.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { rightsText } from '../command-rights.ts';
import { type OutputFormat, outputOption, parseSeconds } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { tell, withProgress } from '../output/stderr.ts';
import { columns, type TableCell } from '../output/table.ts';
import { EXIT } from '../process.ts';
import {
  addedTo,
  type Cleaned,
  type CleaningOptions,
  clean,
  DRY_RUNS,
  findLeftovers,
  titleOf,
  waitingOn,
} from './leftovers.ts';

interface CleanupOptions extends Pick<CleaningOptions, 'tolerations' | 'dryRun'> {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly timeout: number;
  readonly output: OutputFormat;
}

/** Native policies that a message names. */
const MAX_NAMED = 5;

/** `taintkeeper cleanup`: removes what an installation leaves on Nodes and DaemonSets. */
export function cleanupCommand(exit: (code: number) => void): Command {
  return new Command('cleanup')
    .description(
      'Remove what taintkeeper leaves on nodes and DaemonSets once it is uninstalled: startup taints that still wait (ensure: UntilReady), its annotations and, with --tolerations, the tolerations that it added to DaemonSets while they ran.',
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(
      new Option(
        '--dry-run [how]',
        'client: only show what would be removed; server: have the API server try it, too, without keeping it',
      )
        .choices(DRY_RUNS)
        .default('none')
        .preset('client'),
    )
    .option(
      '--tolerations',
      'remove the added tolerations from DaemonSets, too; this replaces their pods, and nodes with such taints get none',
      false,
    )
    .option(
      '--timeout <seconds>',
      'with --tolerations: how long the pods of one DaemonSet may take to be replaced',
      parseSeconds,
      600,
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Uninstall taintkeeper first. While its webhooks are registered or its native policies are in force, the command changes nothing,
because taintkeeper would write the same again. It finds only tolerations that were added to running DaemonSets (existing: Patch).
Tolerations that were added when a DaemonSet was created or changed have no record. With --tolerations, the pods of one DaemonSet
are replaced before the next one is changed.

It removes startup taints first, and finds them by the TaintPolicies. Run it before you delete the CustomResourceDefinitions, or
remove them with kubectl taint nodes. Other taints that policies required stay.

${rightsText('cleanup')}

Exit code: 0 everything was removed, 1 some objects could not be removed, 2 could not determine the state, or taintkeeper is installed.

Examples:
  taintkeeper cleanup --dry-run                  shows what is left, in the current context
  taintkeeper cleanup                            removes annotations, keeps tolerations
  taintkeeper cleanup --tolerations              removes tolerations too, one DaemonSet after the other`,
    )
    .action(async (options: CleanupOptions) => {
      const cleaned = await cleanUp(options);
      process.stdout.write(formatCleanup(cleaned, options, options.output));
      exit(cleaned.every(({ result }) => result === 'removed') ? EXIT.ok : EXIT.problem);
    });
}

/** @throws InputError if the cluster cannot be read, or taintkeeper runs there */
function cleanUp({ timeout, ...options }: CleanupOptions): Promise<Cleaned[]> {
  const cleanUpAt = async (client: ApiClient) => {
    await refuseWhileInstalled(client, options.dryRun !== 'none');
    const leftovers = await withProgress('reading nodes and DaemonSets', findLeftovers(client));
    const rolling = options.tolerations ? leftovers.objects.filter(({ tolerations }) => tolerations.length > 0) : [];
    if (rolling.length > 0 && options.dryRun === 'none') {
      tell(`note: the pods of ${count(rolling.length, 'DaemonSet')} are replaced, one DaemonSet after the other`);
    }
    let what = 'cleaning up';
    const onProgress = (next: string) => {
      what = next;
    };
    const work = clean(client, leftovers, { ...options, rolloutTimeoutMs: timeout * 1000, onProgress });
    return withProgress(() => what, work);
  };
  return atCluster(options, cleanUpAt, { namesServer: true });
}

async function refuseWhileInstalled(client: ApiClient, isTrial: boolean): Promise<void> {
  const registered = await registeredWebhooks(client);
  const bound = await boundNatives(client);
  const fault = registered ?? nativesAtWork(bound.filter(isWrittenByLeader));
  if (fault !== undefined) {
    if (!isTrial) throw new InputError([`${fault}. Uninstall it first, or pass --dry-run`]);
    tell(`note: ${fault}`);
    return;
  }
  const writing = bound.filter(({ kind }) => kind === 'MutatingAdmissionPolicyBinding');
  if (writing.length === 0) return;
  tell(`note: native policies are in force, and go on writing annotations to nodes: ${named(writing)}`);
}

/** The message about webhook configurations that exist. */
async function registeredWebhooks(client: ApiClient): Promise<string | undefined> {
  for (const { kind, resource } of Object.values(CONFIGURATIONS)) {
    if (!(await findObject(client, `${ADMISSION_REGISTRATION}/${resource}/${CONFIGURATION_NAME}`))) continue;
    return `${kind} ${CONFIGURATION_NAME} exists: taintkeeper is installed, and would write again what is removed`;
  }
  return undefined;
}

/** The ClusterRole owns the webhook configurations. A policy that only native policies enforce has no webhook. */
function nativesAtWork(written: readonly NativeObject[]): string | undefined {
  if (written.length === 0) return undefined;
  return `native policies of taintkeeper are in force: ${named(written)}: it is installed, or not wholly removed`;
}

function named(natives: readonly NativeObject[]): string {
  return atMost(MAX_NAMED, [...new Set(natives.map(({ metadata }) => metadata.name))]).join(', ');
}

/**
 * The bindings of native policies with our names.
 * @throws InputError if the user may not read them
 */
async function boundNatives(client: ApiClient): Promise<NativeObject[]> {
  try {
    const natives = await listNative(client, await servedVersions(client));
    return natives.filter(({ kind }) => kind.endsWith('Binding'));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new InputError([
      `whether native policies of taintkeeper are in force cannot be read: ${error.message}. ${rightsText('cleanup')}`,
    ]);
  }
}

type Shown = Pick<CleaningOptions, 'tolerations' | 'dryRun'>;

/** The result of `taintkeeper cleanup`. */
function formatCleanup(cleaned: readonly Cleaned[], shown: Shown, format: OutputFormat): string {
  return formatAs(format, { data: () => dataOf(cleaned, shown), table: (look) => tableOf(cleaned, shown, look) });
}

function dataOf(cleaned: readonly Cleaned[], { tolerations, dryRun }: Shown): object {
  return {
    dryRun,
    objects: cleaned.map(({ leftover, result, problem }) => ({
      resource: leftover.resource,
      ...(leftover.namespace === undefined ? {} : { namespace: leftover.namespace }),
      name: leftover.name,
      ...(waitingOn(leftover).length > 0 ? { startupTaints: waitingOn(leftover).map(formatTaint) } : {}),
      annotations: Object.fromEntries(leftover.annotations.map(({ name, value }) => [name, value])),
      [tolerations ? 'tolerations' : 'keptTolerations']: addedTo(leftover),
      result,
      ...(problem === undefined ? {} : { problem }),
    })),
  };
}

const LEVELS: Readonly<Record<Cleaned['result'], Level>> = { removed: 'ok', failed: 'failed', skipped: 'quiet' };

/** In kubectl's words. */
const SUFFIXES = { none: '', client: ' (dry run)', server: ' (server dry run)' } as const;

function tableOf(cleaned: readonly Cleaned[], { tolerations, dryRun }: Shown, look: Look): string {
  if (cleaned.length === 0) return 'nothing of taintkeeper is left on nodes and DaemonSets\n';
  const suffix = SUFFIXES[dryRun];
  const rows = cleaned.flatMap(({ leftover, result }) => {
    const title = printable(titleOf(leftover));
    const added = addedTo(leftover).map(formatToleration);
    const cell: TableCell = { text: `${result}${suffix}`, level: LEVELS[result] };
    return [
      ...waitingOn(leftover).map((taint) => [title, printable(`startup taint ${formatTaint(taint)}`), cell]),
      ...leftover.annotations.map(({ name, value }) => [title, printable(`annotation ${name}: ${value}`), cell]),
      ...added.map((text) => [title, printable(`toleration ${text}`), tolerations ? cell : 'kept']),
    ];
  });
  const problems = cleaned.flatMap(({ leftover, problem }) =>
    problem === undefined ? [] : [`${printable(titleOf(leftover))}: ${printable(problem)}\n`],
  );
  const kept = tolerations ? 0 : cleaned.flatMap(({ leftover }) => addedTo(leftover)).length;
  return [
    columns([['OBJECT', 'WHAT', 'RESULT'], ...rows], look),
    ...(problems.length > 0 ? ['\n', ...problems] : []),
    ...(kept > 0 ? [`\n${keptAdvice(kept, dryRun)}\n`] : []),
  ].join('');
}

/** Only the annotation records which tolerations taintkeeper added. */
function keptAdvice(kept: number, dryRun: Shown['dryRun']): string {
  const what = `${count(kept, 'toleration')} that taintkeeper added`;
  return dryRun === 'none'
    ? `Kept ${what}, and removed the annotation that records them. To remove the tolerations, edit the DaemonSets.`
    : `Without --tolerations, cleanup keeps ${what}, and removes the annotation that records them. With --tolerations, it removes both, and the DaemonSets replace their pods.`;
}
