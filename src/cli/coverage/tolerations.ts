import { type Command, Option } from 'commander';
import { isAllowed } from '../../cluster/access-review.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden, isNotServed } from '../../cluster/client/api-error.ts';
import { boundNamespaces, calledService } from '../../cluster/own-namespaces.ts';
import { listPolicies } from '../../cluster/policies.ts';
import { policiesInForce } from '../../cluster/policy-object.ts';
import { listGrants } from '../../cluster/tolerate-grants.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { allRestrictedKeys, serviceAccountUser, TOLERATE } from '../../coverage/authorization.ts';
import { broadGrants, explainGrant } from '../../coverage/broad-grants.ts';
import {
  authorizationsNeeded,
  type Claim,
  grantsFor,
  TOLERATOR_KINDS,
  type Tolerator,
  type ToleratorKind,
} from '../../coverage/tolerating.ts';
import { type WideToleration, wideTolerations } from '../../coverage/wide-tolerations.ts';
import { KUBECTL_YAML, readEachFile } from '../../files/documents.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { yamlText } from '../../files/printed-data.ts';
import { InputError } from '../../files/text-files.ts';
import { toleratorsIn } from '../../files/tolerators.ts';
import { matchesPattern } from '../../kubernetes/pattern.ts';
import { count, printable } from '../../kubernetes/text.ts';
import { isMirrorPod, viewTolerator } from '../../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, parsePolicy } from '../../policy/policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { atCluster } from '../cluster-options.ts';
import { EXIT, type OutputFormat, outputOption, repeatable } from '../options.ts';
import { asComments, asJson, columns, formatAs, type Look, namesIn, withProgress } from '../output.ts';
import { absentNamespace, filesOf, type SourceOptions, sourceCommand } from './options.ts';

interface TolerationsOptions extends SourceOptions {
  readonly namespace?: readonly string[];
  /** Keys that only authorized users may tolerate, in place of those of the policies. */
  readonly taint?: readonly string[];
  /** Files, in place of the policies in the cluster. */
  readonly policies?: readonly string[];
  readonly fix: boolean;
  readonly output: OutputFormat;
}

/**
 * `taintkeeper coverage tolerations`: shows which workloads tolerate a restricted key without authorization, and which tolerate drained or
 * dead nodes.
 */
export function tolerationsCommand(exit: (code: number) => void): Command {
  return sourceCommand('tolerations')
    .description(
      'Show which service accounts have pods that tolerate a restricted key, and are not authorized to, and which workloads return to drained nodes or stay bound to dead ones. Reads the workloads of a cluster, or of files. Changes nothing.',
    )
    .option(
      '-n, --namespace <name>',
      'only the workloads of this namespace; * is any text; may be repeated',
      repeatable,
    )
    .addOption(
      new Option('--taint <key>', 'a restricted key, in place of those in policies; may be repeated')
        .argParser(repeatable)
        .conflicts('policies'),
    )
    .option(
      '--policies <path>',
      'policy file, or directory of them; may be repeated (default: the policies in the cluster)',
      repeatable,
    )
    .option('--fix', 'print the ClusterRoles and ClusterRoleBindings that authorize them', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A workload returns to drained nodes if it tolerates the taint of a cordon, of Karpenter or of the Cluster Autoscaler. It stays bound to
dead nodes if it tolerates not-ready or unreachable with NoExecute and without tolerationSeconds. DaemonSets and static pods are
meant to do both, and are left out.

Exit code: 0 all are authorized, or --fix printed what authorizes them; 1 some are not; 2 the input or the cluster could not be read.
Workloads that tolerate drained or dead nodes do not change it.

Examples:
  taintkeeper coverage tolerations                                   also which workloads tolerate drained or dead nodes
  taintkeeper coverage tolerations --taint dedicated                 whose pods a TolerationRestriction would refuse
  taintkeeper coverage tolerations --fix | kubectl apply -f -        authorize all of them`,
    )
    .action(async (args: readonly string[], options: TolerationsOptions) => {
      const isFine = await showTolerations(filesOf(args, options), options);
      exit(isFine ? EXIT.ok : EXIT.problem);
    });
}

/**
 * Shows which pods would be denied if they were created now, and what tolerates drained or dead nodes. Without a cluster, authorization is not
 * known.
 * @returns whether no pod would be denied, or the commands that authorize them were printed
 * @throws InputError
 */
async function showTolerations(files: readonly string[], options: TolerationsOptions): Promise<boolean> {
  const stated = await statedPolicies(options);
  const found: Findings = await (files.length > 0
    ? askFiles(files, stated, options)
    : atCluster(options, (client) => withProgress('asking who may tolerate', askCluster(client, stated, options))));
  process.stdout.write(
    options.fix ? formatGrants(found.refused, options.output) : formatFindings(found, options.output),
  );
  if (found.unread) throw new InputError(found.unread);
  return options.fix || found.refused.length === 0;
}

interface Findings {
  /** Whether there is a key that only authorized users may tolerate. */
  readonly asked: boolean;
  readonly refused: readonly Claim[];
  readonly wide: readonly WideToleration[];
  readonly notes: readonly string[];
  /** Why files could not be read. Absent if all were. */
  readonly unread?: readonly string[];
}

/** @throws InputError if keys are required, and there are none */
function claims(
  tolerators: readonly Tolerator[],
  policies: readonly Policy[],
  { taint, policies: files, fix }: TolerationsOptions,
): Pick<Findings, 'asked' | 'refused' | 'notes'> {
  const { tolerationRestrictions } = compilePolicies(policies);
  if (tolerationRestrictions.length === 0) {
    const none =
      'there are no TolerationRestrictions: to see which pods a restriction would affect, name a key with --taint';
    if (fix || files) throw new InputError([none]);
    return { asked: false, refused: [], notes: [none] };
  }
  const found = authorizationsNeeded(tolerators, tolerationRestrictions);
  // Keys of the command line have no policy.
  return { asked: true, refused: taint ? found.map((claim) => ({ ...claim, rules: [] })) : found, notes: [] };
}

/** The workloads of the requested namespaces. */
function chosen(tolerators: readonly Tolerator[], { namespace = [] }: TolerationsOptions): Tolerator[] {
  return tolerators.filter(
    ({ pod }) => namespace.length === 0 || namespace.some((one) => matchesPattern(one, pod.namespace)),
  );
}

/** The policies of the options, if they name any. */
async function statedPolicies({ taint, policies }: TolerationsOptions): Promise<readonly Policy[] | undefined> {
  if (policies) return parsePolicies(await readPolicyFiles(policies));
  return taint?.map((key, index) => {
    const result = parsePolicy({
      apiVersion: POLICY_API_VERSION,
      kind: 'TolerationRestriction',
      metadata: { name: `taint-${index + 1}` },
      spec: { mode: 'Audit', taints: [{ key }] },
    });
    if (!result.ok) throw new InputError(result.problems.map(({ message }) => `--taint ${key}: ${message}`));
    return result.policy;
  });
}

/** @throws InputError */
async function readFiles(files: readonly string[], { namespace }: TolerationsOptions) {
  const absent = absentNamespace(namespace);
  const { found, faults } = await readEachFile(files, (documents) =>
    documents.flatMap((document) => toleratorsIn(document, absent)),
  );
  const tolerators: Tolerator[] = found.flat();
  if (tolerators.length === 0) throw new InputError([...faults, `no ${TOLERATOR_KINDS.join(', ')} found`]);
  return { tolerators, ...(faults.length > 0 ? { unread: faults } : {}) };
}

async function askFiles(
  files: readonly string[],
  stated: readonly Policy[] | undefined,
  options: TolerationsOptions,
): Promise<Findings> {
  if (stated === undefined && options.fix) {
    throw new InputError(['no restricted keys: with files, pass keys with --taint, or policies with --policies']);
  }
  const { tolerators: all, ...unread } = await readFiles(files, options);
  const tolerators = chosen(all, options);
  const wide = wideTolerations(tolerators);
  if (stated === undefined) {
    const note = 'authorization to tolerate keys is not shown: pass keys with --taint, or the policies with --policies';
    return { asked: false, refused: [], wide, notes: [note], ...unread };
  }
  const found = claims(tolerators, stated, options);
  const unknown = found.refused.length > 0 ? ['without a cluster, no user is known to be authorized'] : [];
  return { ...found, wide, notes: [...found.notes, ...unknown], ...unread };
}

/** @returns the service accounts without authorization, by access reviews, and bindings that authorize whole groups or controllers */
async function askCluster(
  client: ApiClient,
  stated: readonly Policy[] | undefined,
  options: TolerationsOptions,
): Promise<Findings> {
  const [policies, tolerators] = await Promise.all([stated ?? listRestrictions(client), listTolerators(client)]);
  const own = policies.length > 0 ? await ownNamespaces(client) : { namespaces: [], notes: [] };
  const all = chosen(tolerators, options);
  const others = all.filter(({ pod }) => !own.namespaces.includes(pod.namespace));
  const { asked, refused, notes } = claims(others, policies, options);
  return {
    asked,
    refused: await unauthorized(client, refused),
    wide: wideTolerations(all),
    notes: [...notes, ...own.notes, ...(asked ? await grantNotes(client, policies) : [])],
  };
}

/** The namespaces of taintkeeper, which native policies exempt, as far as the user may read what says so. */
async function ownNamespaces(
  client: ApiClient,
): Promise<{ readonly namespaces: readonly (string | undefined)[]; readonly notes: readonly string[] }> {
  const notes: string[] = [];
  const unlessForbidden = async <T>(reading: Promise<T>) => {
    try {
      return await reading;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      notes.push(`pods of taintkeeper itself may be listed, because its namespace could not be read: ${error.message}`);
      return undefined;
    }
  };
  const called = await unlessForbidden(calledService(client));
  const bound = await unlessForbidden(boundNamespaces(client));
  return { namespaces: [called?.namespace, client.namespace, ...(bound ?? [])], notes };
}

async function grantNotes(client: ApiClient, policies: readonly Policy[]): Promise<string[]> {
  try {
    const { roles, bindings } = await listGrants(client);
    return broadGrants(allRestrictedKeys(policies), roles, bindings).map((grant) => {
      const { effect, remedy } = explainGrant(grant);
      return printable(`${effect}; ${remedy}`);
    });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return [
      'bindings to whole groups and to controllers are not shown: you may not list ClusterRoles and ClusterRoleBindings',
    ];
  }
}

async function listRestrictions(client: ApiClient): Promise<Policy[]> {
  try {
    return policiesInForce(await listPolicies(client, ['TolerationRestriction']));
  } catch (error) {
    if (isNotServed(error)) return [];
    throw error;
  }
}

const LISTS = [
  { kind: 'DaemonSet', path: '/apis/apps/v1/daemonsets' },
  { kind: 'Deployment', path: '/apis/apps/v1/deployments' },
  { kind: 'StatefulSet', path: '/apis/apps/v1/statefulsets' },
  { kind: 'Job', path: '/apis/batch/v1/jobs' },
  { kind: 'CronJob', path: '/apis/batch/v1/cronjobs' },
] as const;

/** Workloads with tolerations. */
async function listTolerators(client: ApiClient): Promise<Tolerator[]> {
  const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed';
  const view = (kind: ToleratorKind) => (object: unknown) => viewTolerator(kind, object, []);
  const [pods, ...workloads] = await Promise.all([
    listObjects(client, '/api/v1/pods', viewLivePod, { fieldSelector }),
    ...LISTS.map(({ kind, path }) => listObjects(client, path, view(kind))),
  ]);
  return [...(pods ?? []), ...workloads].flat();
}

/** Leaves out static pods, which no policy covers. A pod does not say who set its node. */
function viewLivePod(object: unknown): Tolerator[] {
  if (isMirrorPod(object, [])) return [];
  const { pod, ...tolerator } = viewTolerator('Pod', object, []);
  return [{ ...tolerator, pod: { ...pod, nodeName: '' } }];
}

/** The number of parallel access reviews. */
const MAX_AT_ONCE = 8;

/** Reviews as native policies do: for a service account with these groups only. */
async function unauthorized(client: ApiClient, all: readonly Claim[]): Promise<Claim[]> {
  const refused = new Set<Claim>();
  const waiting = all.values();
  const work = async () => {
    for (const claim of waiting) if (!(await isAuthorized(client, claim))) refused.add(claim);
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return all.filter((claim) => refused.has(claim));
}

async function isAuthorized(client: ApiClient, { namespace, serviceAccount, key }: Claim): Promise<boolean> {
  const { apiGroup: group, resource, verb } = TOLERATE;
  const subject = {
    user: serviceAccountUser(namespace, serviceAccount),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  };
  try {
    return await isAllowed(client, { group, resource, verb, name: key }, subject);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new InputError([
      `you may not ask what others may: that needs the verb create on subjectaccessreviews.authorization.k8s.io (${error.message})`,
    ]);
  }
}

/** How many names are printed. */
const NAMES = 4;
const some = (texts: readonly string[], look: Look) => namesIn(texts, NAMES, look) || '-';
const titleOf = ({ namespace, serviceAccount }: Claim) => printable(`${namespace}/${serviceAccount}`);

function formatFindings(found: Findings, format: OutputFormat): string {
  const { refused, wide, notes } = found;
  return formatAs(format, {
    data: () => ({ refused, wideTolerations: wide, notes }),
    table: (look) =>
      [...claimTable(found, look), ...wideTable(wide, look), noteLines(notes), ...summary(found)]
        .filter(Boolean)
        .join('\n'),
  });
}

function claimTable({ refused }: Findings, look: Look): string[] {
  if (refused.length === 0) return [];
  const rows = refused.map((claim) => [
    `${titleOf(claim)}${claim.isBare ? ' *' : ''}`,
    claim.key,
    some(claim.workloads, look),
    String(claim.pods),
    some(claim.by, look),
    some(claim.rules, look),
  ]);
  return [columns([['SERVICE ACCOUNT', 'MAY NOT TOLERATE', 'WORKLOADS', 'PODS', 'BY', 'POLICY'], ...rows], look)];
}

function wideTable(wide: readonly WideToleration[], look: Look): string[] {
  const rows = wide.map(({ kind, namespace, name, toleration, returnsTo, staysOn, change }) => [
    printable(`${kind} ${namespace}/${name}`),
    printable(toleration),
    resultOf({ kind, returnsTo, staysOn }),
    printable(change),
  ]);
  const text = () => columns([['WORKLOAD', 'TOLERATES', 'RESULT', 'CHANGE'], ...rows], look);
  return rows.length > 0 ? [`Tolerate drained or dead nodes:\n${text()}`] : [];
}

function resultOf({ kind, returnsTo, staysOn }: Pick<WideToleration, 'kind' | 'returnsTo' | 'staysOn'>): string {
  const returns = kind === 'Pod' ? 'can be scheduled to' : 'returns to';
  return [
    ...(returnsTo.length > 0 ? [`${returns} drained nodes`] : []),
    ...(staysOn.length > 0 ? ['stays bound to dead nodes'] : []),
  ].join('; ');
}

function noteLines(notes: readonly string[]): string {
  return notes.map((note) => `note: ${note}\n`).join('');
}

function summary({ asked, refused, wide }: Findings): string[] {
  const bare = refused.some(({ isBare }) => isBare);
  const missing = `${count(refused.length, 'authorization')} missing: --fix prints what grants ${refused.length === 1 ? 'it' : 'all'}`;
  return [
    [
      ...(bare ? ['* unless an authorized person creates these pods: the right of a controller does not count'] : []),
      ...(refused.length > 0 ? [missing] : asked ? ['no pod would be refused'] : []),
      ...(wide.length === 0 ? ['no workload tolerates drained or dead nodes'] : []),
    ]
      .map((line) => `${line}\n`)
      .join(''),
  ];
}

/** Manifests for `kubectl apply -f -`. */
function formatGrants(refused: readonly Claim[], format: OutputFormat): string {
  const items = grantsFor(refused);
  if (format === 'json') return asJson({ apiVersion: 'v1', kind: 'List', items });
  const comments =
    refused.length === 0
      ? ['No pod would be refused.']
      : [
          'Users who may create pods in a namespace may use its service accounts, and so the rights granted to them here.',
          ...refused.map(
            (claim) =>
              `- ${titleOf(claim)} tolerates ${claim.key}: ${printable(claim.workloads.join(', ')) || '-'}${claim.pods > 0 ? `, ${count(claim.pods, 'pod')}` : ''}`,
          ),
        ];
  return [asComments(comments), ...items.map((item) => yamlText(item, KUBECTL_YAML))].join('---\n');
}
