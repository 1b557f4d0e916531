import { Command, Option } from 'commander';
import type { Operation } from 'fast-json-patch';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal } from '../../cluster/client/api-error.ts';
import { patchIfUnchanged } from '../../cluster/conditional-patch.ts';
import { type PolicyObject, policiesInForce, whyUnusable } from '../../cluster/policy-object.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { InputError } from '../../files/text-files.ts';
import type { NodeView } from '../../judge/node-view.ts';
import { type CarriedTaint, type KeptReason, requiredTaintsOn } from '../../judge/removable-taints.ts';
import { formatTaint, identity, type Taint } from '../../kubernetes/taint.ts';
import { count, printable } from '../../kubernetes/text.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import type { TaintPolicy } from '../../policy/policy.ts';
import { compilePolicies, compileTaintPolicy } from '../../policy/policy-set.ts';
import { takeTurn, tokenBucket } from '../../runtime/rate-limit.ts';
import { atCluster, CLUSTER_OPTIONS, installedPolicies } from '../cluster-options.ts';
import { rightsText } from '../command-rights.ts';
import { EXIT, type OutputFormat, outputOption, repeatable } from '../options.ts';
import { columns, formatAs, withProgress } from '../output.ts';
import { CLEANUP_MANAGER, WRITES } from './leftovers.ts';

interface CleanupTaintsOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly policy: string;
  readonly policies?: readonly string[];
  readonly yes: boolean;
  readonly output: OutputFormat;
}

/** A node that carries taints which the policy requires. */
interface TaintedNode {
  readonly node: NodeView;
  /** `spec.taints` as the API server returned it. */
  readonly list: readonly Taint[];
}

/** The result for a taint. */
interface CleanedTaint extends CarriedTaint {
  readonly node: string;
  /** `removable`: it would be removed with --yes. */
  readonly result: 'removed' | 'removable' | 'kept' | 'failed';
  /** Why the API server did not remove it. */
  readonly problem?: string;
}

/** `taintkeeper cleanup taints`: removes the taints that a policy required. */
export function cleanupTaintsCommand(exit: (code: number) => void): Command {
  return new Command('taints')
    .description(
      'Remove from nodes the taints that a TaintPolicy requires (ensure). Without --yes, only shows them. Deleting a policy removes no taint.',
    )
    .requiredOption('--policy <name>', 'the TaintPolicy; in the cluster it must be in mode Audit')
    .addOption(
      new Option(
        '--policies <path>',
        'file or directory with the policy, where it is no longer in the cluster; may be repeated',
      ).argParser(repeatable),
    )
    .option('--yes', 'remove the taints', false)
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A taint is kept if its value differs from the policy's, if the policy does not select the node, or if another policy protects it.

${rightsText('cleanup taints')}

Exit code: 0 the taints are shown or removed, 1 some could not be removed, 2 the input or the cluster could not be read.

Examples:
  ${auditPatch('gpu-pool')}
  taintkeeper cleanup taints --policy gpu-pool                            show the taints
  taintkeeper cleanup taints --policy gpu-pool --yes                      remove them
  taintkeeper cleanup taints --policy gpu-pool --policies gpu-pool.yaml   after the policy was deleted`,
    )
    .action(async (options: CleanupTaintsOptions) => {
      const cleaned = await cleanTaints(options);
      process.stdout.write(formatCleanedTaints(cleaned, options));
      exit(cleaned.some(({ result }) => result === 'failed') ? EXIT.problem : EXIT.ok);
    });
}

/** @throws InputError */
async function cleanTaints(options: CleanupTaintsOptions): Promise<CleanedTaint[]> {
  const { policy: name, policies: paths = [], yes } = options;
  const given = paths.length > 0 ? parsePolicies(await readPolicyFiles(paths)) : undefined;
  const ofFile = given?.find((policy) => policy.kind === 'TaintPolicy' && policy.name === name);
  if (given && ofFile?.kind !== 'TaintPolicy') throw new InputError([`--policies has no TaintPolicy "${name}"`]);
  return atCluster(options, async (client) => {
    const inCluster = await listTaintPolicies(client, given !== undefined);
    refuseWhileUnusable(inCluster);
    const policy = compileTaintPolicy((ofFile as TaintPolicy | undefined) ?? policyOf(inCluster, name));
    refuseWhileRequired(inCluster, name);
    const others = compilePolicies(policiesInForce(inCluster)).taintPolicies.filter((other) => other.name !== name);
    const planOf = ({ node }: TaintedNode) => requiredTaintsOn(node, policy, others);
    const nodes = await withProgress('reading nodes', listObjects(client, '/api/v1/nodes', readNode));
    const writes = tokenBucket(WRITES.burst, WRITES.refillMs);
    const cleaned: CleanedTaint[] = [];
    for (const tainted of nodes) {
      const plan = planOf(tainted);
      let problem: string | undefined;
      if (yes && plan.some(({ kept }) => kept === undefined)) {
        await takeTurn(() => writes);
        problem = await removeTaints(client, tainted, planOf);
      }
      cleaned.push(...plan.map((taint): CleanedTaint => ({ ...taint, node: tainted.node.name, ...resultOf(taint) })));
      function resultOf({ kept }: CarriedTaint): Pick<CleanedTaint, 'result' | 'problem'> {
        if (kept) return { result: 'kept' };
        if (!yes) return { result: 'removable' };
        return problem === undefined ? { result: 'removed' } : { result: 'failed', problem };
      }
    }
    return cleaned;
  });
}

/** None if taintkeeper is not installed, and that is allowed. @throws InputError, ApiError */
async function listTaintPolicies(client: ApiClient, mayBeMissing: boolean): Promise<PolicyObject[]> {
  try {
    return await installedPolicies(client, 'TaintPolicy');
  } catch (error) {
    if (mayBeMissing && error instanceof InputError) return [];
    throw error;
  }
}

/** @throws InputError */
function policyOf(inCluster: readonly PolicyObject[], name: string): TaintPolicy {
  const object = inCluster.find((one) => one.name === name);
  if (!object) {
    throw new InputError([`the cluster has no TaintPolicy "${name}": pass the file that it came from with --policies`]);
  }
  return policiesInForce([object])[0] as TaintPolicy;
}

/** Refuses an unusable policy: an earlier generation, which only the replicas know, may be in force. @throws InputError */
function refuseWhileUnusable(inCluster: readonly PolicyObject[]): void {
  const problems = inCluster.flatMap((object) => {
    const why = whyUnusable(object);
    return why === undefined
      ? []
      : `which taints TaintPolicy "${object.name}" protects is not known: ${why}. Correct or delete it first`;
  });
  if (problems.length > 0) throw new InputError(problems);
}

/** The command that sets a policy to mode Audit. The API server refuses that mode together with `failurePolicy: Fail`. */
function auditPatch(name: string): string {
  return `kubectl patch taintpolicy ${name} --type merge -p '{"spec":{"mode":"Audit","failurePolicy":null}}'`;
}

/** Refuses while a policy is in force: the leader would add the taints again, or the webhook would deny their removal. @throws InputError */
function refuseWhileRequired(inCluster: readonly PolicyObject[], name: string): void {
  const [policy] = policiesInForce(inCluster.filter((one) => one.name === name));
  if (policy?.kind !== 'TaintPolicy' || policy.spec.mode === 'Audit') return;
  throw new InputError([
    `TaintPolicy "${name}" is in mode ${policy.spec.mode}, so its taints would be restored. First: ${auditPatch(name)}`,
  ]);
}

/** @returns why the API server refuses it; undefined if the taints were removed @throws ApiError that is not about this node only */
async function removeTaints(
  client: ApiClient,
  first: TaintedNode,
  planOf: (tainted: TaintedNode) => readonly CarriedTaint[],
): Promise<string | undefined> {
  try {
    await patchIfUnchanged(client, {
      path: `/api/v1/nodes/${first.node.name}`,
      first,
      read: readNode,
      patch(tainted): Operation[] {
        const removable = planOf(tainted).filter(({ kept }) => kept === undefined);
        const removed = new Set(removable.map(({ taint }) => identity(taint)));
        if (removed.size === 0) return [];
        const value = tainted.list.filter((taint) => !removed.has(identity(taint)));
        return [
          { op: 'test', path: '/spec/taints', value: tainted.list },
          { op: 'replace', path: '/spec/taints', value },
        ];
      },
      fieldManager: CLEANUP_MANAGER,
      dryRun: false,
    });
    return undefined;
  } catch (error) {
    if (!isFinal(error)) throw error;
    return error.message;
  }
}

/** @throws MalformedObjectError */
function readNode(object: unknown): TaintedNode {
  const { spec } = object as { spec?: { taints?: readonly Taint[] } };
  return { node: viewNode(asNode(object, []), ''), list: spec?.taints ?? [] };
}

function formatCleanedTaints(cleaned: readonly CleanedTaint[], { policy, output, yes }: CleanupTaintsOptions): string {
  return formatAs(output, {
    data: () => ({
      policy,
      taints: cleaned.map(({ node, taint, result, kept, problem }) => ({
        node,
        taint: formatTaint(taint),
        result,
        ...(kept && { reason: kept.reason }),
        ...(problem === undefined ? {} : { problem }),
      })),
    }),
    table(look) {
      if (cleaned.length === 0) return `no node carries a taint that TaintPolicy "${policy}" requires\n`;
      const rows = cleaned.map((one) => [one.node, formatTaint(one.taint), describeResult(one)].map(printable));
      const removable = cleaned.filter(({ result }) => result === 'removable').length;
      const hint = removable > 0 && !yes ? `\nTo remove ${count(removable, 'taint')}, run it again with --yes.\n` : '';
      return `${columns([['NODE', 'TAINT', 'RESULT'], ...rows], look)}${hint}`;
    },
  });
}

function describeResult({ result, kept, problem }: CleanedTaint): string {
  if (kept) return `kept: ${describeReason(kept)}`;
  if (result === 'failed') return `failed: ${problem}`;
  return result === 'removed' ? 'removed' : 'can be removed';
}

function describeReason(kept: KeptReason): string {
  switch (kept.reason) {
    case 'OtherValue':
      return "its value is not the policy's";
    case 'NotSelected':
      return 'the policy does not select the node';
    case 'Protected':
      return `TaintPolicy ${kept.by} protects it`;
  }
}
