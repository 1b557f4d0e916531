import { Command, Option } from 'commander';
import { type CleaningOptions, clean, DRY_RUNS } from '../../cleanup/cleaning.ts';
import { removableIndexes } from '../../cleanup/leftover.ts';
import { findLeftovers } from '../../cleanup/leftovers.ts';
import { findRemainingWriters, type RemainingWriters } from '../../cleanup/remaining-writers.ts';
import { UnreadableStateError } from '../../cleanup/unreadable-state-error.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { definitionOf } from '../../cluster/policies/policy-definitions.ts';
import { type PolicyObject, policyFault } from '../../cluster/policies/policy-object.ts';
import { InputError } from '../../files/input-error.ts';
import { count } from '../../text/counts.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { rightsText } from '../command-rights.ts';
import { type OutputFormat, outputOption, parseSeconds } from '../options.ts';
import { tell, withProgress } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import { type Cleanup, formatCleanup } from './cleaned-objects.ts';

interface CleanupOptions extends ClusterChoice, Pick<CleaningOptions, 'dryRun'> {
  readonly tolerations: boolean;
  readonly timeout: number;
  readonly output: OutputFormat;
}

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
are replaced before the next one is changed. A toleration stays if the source of the DaemonSet may have it by now, and the reason is
printed.

It removes startup taints first, and finds them by the TaintPolicies. Run it before you delete the CustomResourceDefinitions. Without
them, startup taints are unknown, and stay: remove them with kubectl taint nodes. It names each TaintPolicy that it cannot use, whose
startup taints stay. Other taints that policies required stay, too.

${rightsText('cleanup')}

Exit code: 0 everything was removed, 1 some objects could not be removed, or a TaintPolicy cannot be used, 2 could not determine the
state, or taintkeeper is installed.

Examples:
  taintkeeper cleanup --dry-run                  shows what is left
  taintkeeper cleanup                            removes annotations, keeps tolerations
  taintkeeper cleanup --tolerations              removes tolerations too, one DaemonSet after the other`,
    )
    .action(async (options: CleanupOptions) => {
      const cleanup = await cleanUp(options);
      const { tolerations: removesTolerations, dryRun, output } = options;
      process.stdout.write(formatCleanup(cleanup, { removesTolerations, dryRun }, output));
      const { cleaned, unusable } = cleanup;
      const isClean = unusable.length === 0 && cleaned.every(({ result }) => result === 'removed');
      exit(isClean ? EXIT.ok : EXIT.problem);
    });
}

/** @throws InputError if the cluster cannot be read, or taintkeeper runs there */
function cleanUp({ timeout, tolerations: removesTolerations, dryRun, ...choice }: CleanupOptions): Promise<Cleanup> {
  const cleanUpAt = async (client: ApiClient) => {
    refuseWhileInstalled(await namingRights(findRemainingWriters(client)), dryRun !== 'none');
    const leftovers = await withProgress('reading nodes and DaemonSets', namingRights(findLeftovers(client)));
    tell(...(leftovers.isDefined ? [] : [NO_DEFINITION]), ...leftovers.unusable.map(unusableNote));
    const rolling = removesTolerations
      ? leftovers.objects.filter((leftover) => removableIndexes(leftover).length > 0)
      : [];
    if (rolling.length > 0 && dryRun === 'none') {
      tell(`note: the pods of ${count(rolling.length, 'DaemonSet')} are replaced, one DaemonSet after the other`);
    }
    let what = 'cleaning up';
    const onProgress = (next: string) => {
      what = next;
    };
    const rolloutTimeoutMs = timeout * 1000;
    const work = clean(client, leftovers, { removesTolerations, dryRun, rolloutTimeoutMs, onProgress });
    const { unusable, isDefined } = leftovers;
    return { cleaned: await withProgress(() => what, work), unusable, isDefined };
  };
  return atCluster(choice, cleanUpAt, { namesServer: true });
}

/**
 * Refuses to clean up what taintkeeper would write again.
 * @param isTrial whether to print the reason only
 * @throws InputError
 */
function refuseWhileInstalled({ installation, annotatingNatives }: RemainingWriters, isTrial: boolean): void {
  if (installation !== undefined && !isTrial) {
    throw new InputError([`${installation}. Uninstall it first, or pass --dry-run`]);
  }
  const reason = installation ?? annotatingNatives;
  if (reason !== undefined) tell(`note: ${reason}`);
}

/** @throws InputError with the command's rights if the user may not read something */
async function namingRights<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof UnreadableStateError)) throw error;
    throw new InputError([`${error.message}. ${rightsText('cleanup')}`]);
  }
}

const NO_DEFINITION =
  `note: CustomResourceDefinition ${definitionOf('TaintPolicy')} does not exist: startup taints of deleted policies are unknown, and stay. ` +
  "To show the taints of nodes: kubectl get nodes -o custom-columns='NODE:.metadata.name,TAINTS:.spec.taints[*].key'. " +
  'To remove one: kubectl taint nodes NODE KEY-';

function unusableNote(policy: PolicyObject): string {
  const { name } = policy;
  return (
    `note: TaintPolicy ${name} is left out: ${policyFault(policy)}. Its startup taints are unknown, and stay: correct it with ` +
    `kubectl edit taintpolicy ${name}, and run the command again, or remove its startup taints with kubectl taint nodes`
  );
}
