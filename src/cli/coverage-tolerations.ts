import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden, isNotFound } from '../cluster/client/api-error.ts';
import { POLICY_GROUP, POLICY_RESOURCES, viewPolicy } from '../cluster/policies.ts';
import { listGrants } from '../cluster/tolerate-grants.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import { allAuthorizedKeys, TOLERATE } from '../coverage/authorization.ts';
import { broadGrants, explainGrant } from '../coverage/broad-grants.ts';
import {
  authorizationsNeeded,
  type Claim,
  grantsFor,
  TOLERATOR_KINDS,
  type Tolerator,
  type ToleratorKind,
} from '../coverage/tolerating.ts';
import { OWN_LABELS } from '../doctor/installation.ts';
import { KUBECTL_YAML, readDocuments } from '../files/documents.ts';
import { parsePolicies, readPolicyFiles } from '../files/policy-files.ts';
import { InputError } from '../files/text-files.ts';
import { type StringMap, selects } from '../kubernetes/label-selector.ts';
import { matchesPattern } from '../kubernetes/pattern.ts';
import { atMost, count, printable } from '../kubernetes/text.ts';
import { viewTolerator } from '../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, parsePolicy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { atCluster } from './cluster-options.ts';
import { toleratorsIn } from './coverage-input.ts';
import { absentNamespace, filesOf, type SourceOptions, sourceCommand } from './coverage-options.ts';
import { EXIT, type OutputFormat, outputOption, repeatable } from './options.ts';
import { asComments, asJson, columns, formatAs, withProgress } from './output.ts';

interface TolerationsOptions extends SourceOptions {
  readonly namespace?: readonly string[];
  /** Keys that only the authorized may tolerate, in place of what policies say. */
  readonly taint?: readonly string[];
  /** Files, in place of the policies in the cluster. */
  readonly policies?: readonly string[];
  readonly fix: boolean;
  readonly output: OutputFormat;
}

/** `taintkeeper coverage tolerations`: whose pods tolerate a key that only authorized users may tolerate. */
export function tolerationsCommand(exit: (code: number) => void): Command {
  return sourceCommand('tolerations')
    .description(
      'Show which service accounts have pods that tolerate a restricted key, and are not authorized to. Reads the workloads of a cluster, or of files. Changes nothing.',
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
Exit code: 0 all are authorized, or --fix printed what authorizes them; 1 some are not; 2 the input or the cluster could not be read.

Examples:
  taintkeeper coverage tolerations --taint dedicated                 whose pods a rule with tolerate: Authorized would refuse
  taintkeeper coverage tolerations --fix | kubectl apply -f -        authorize all of them`,
    )
    .action(async (args: readonly string[], options: TolerationsOptions) => {
      const isFine = await showTolerations(filesOf(args, options), options);
      exit(isFine ? EXIT.ok : EXIT.trouble);
    });
}

/**
 * Shows whose pods would be refused if they were created now. Without a cluster, nobody is known to be authorized.
 * @returns whether there are none, or what authorizes them is printed
 * @throws InputError
 */
async function showTolerations(files: readonly string[], options: TolerationsOptions): Promise<boolean> {
  const stated = await statedPolicies(options);
  if (files.length > 0 && stated === undefined) {
    throw new InputError(['which keys? With files, name them with --taint, or the policies with --policies']);
  }
  const { refused, notes } = await (files.length > 0
    ? askFiles(files, stated ?? [], options)
    : atCluster(options, (client) => withProgress('asking who may tolerate', askCluster(client, stated, options))));
  process.stdout.write(
    options.fix ? formatGrants(refused, options.output) : formatClaims(refused, notes, options.output),
  );
  return options.fix || refused.length === 0;
}

function claims(
  tolerators: readonly Tolerator[],
  policies: readonly Policy[],
  { namespace = [], taint }: TolerationsOptions,
) {
  const { taintPolicies } = compilePolicies(policies);
  if (taintPolicies.every(({ authorization }) => authorization === undefined)) {
    throw new InputError([
      'no TaintPolicy has a rule with tolerate: Authorized: name a key with --taint to see who would be refused',
    ]);
  }
  const isAsked = (name: string) => namespace.length === 0 || namespace.some((one) => matchesPattern(one, name));
  const found = authorizationsNeeded(
    tolerators.filter(({ pod }) => isAsked(pod.namespace)),
    taintPolicies,
  );
  // What stands in place of policies has no name.
  return taint ? found.map((claim) => ({ ...claim, rules: [] })) : found;
}

/** Those that the options name, if they do. */
async function statedPolicies({ taint, policies }: TolerationsOptions): Promise<readonly Policy[] | undefined> {
  if (policies) return parsePolicies(await readPolicyFiles(policies));
  return taint?.map((key, index) => {
    const result = parsePolicy({
      apiVersion: POLICY_API_VERSION,
      kind: 'TaintPolicy',
      metadata: { name: `taint-${index + 1}` },
      spec: { mode: 'Audit', taints: [{ key, ensure: 'Nothing', tolerate: 'Authorized' }] },
    });
    if (!result.ok) throw new InputError(result.problems.map(({ message }) => `--taint ${key}: ${message}`));
    return result.policy;
  });
}

/** @throws InputError */
async function readFiles(files: readonly string[], { namespace }: TolerationsOptions): Promise<Tolerator[]> {
  const absent = absentNamespace(namespace);
  const found = (await readDocuments(files)).flatMap((document) => toleratorsIn(document, absent));
  if (found.length === 0) throw new InputError([`no ${TOLERATOR_KINDS.join(', ')} found`]);
  return found;
}

async function askFiles(files: readonly string[], stated: readonly Policy[], options: TolerationsOptions) {
  const refused = claims(await readFiles(files, options), stated, options);
  return { refused, notes: refused.length > 0 ? ['without a cluster, nobody is known to be authorized'] : [] };
}

/** @returns who is not authorized, as the API server says, and which bindings authorize whole groups or controllers */
async function askCluster(client: ApiClient, stated: readonly Policy[] | undefined, options: TolerationsOptions) {
  const [policies, tolerators] = await Promise.all([stated ?? listTaintPolicies(client), listTolerators(client)]);
  const refused = await unauthorized(client, claims(tolerators, policies, options));
  return { refused, notes: await grantNotes(client, policies) };
}

async function grantNotes(client: ApiClient, policies: readonly Policy[]): Promise<string[]> {
  try {
    const { roles, bindings } = await listGrants(client, listObjects);
    return broadGrants(allAuthorizedKeys(policies), roles, bindings).map((grant) => {
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

async function listTaintPolicies(client: ApiClient): Promise<Policy[]> {
  try {
    const path = `${POLICY_GROUP}/${POLICY_RESOURCES.TaintPolicy}`;
    const found = await listObjects(client, path, (object) => viewPolicy('TaintPolicy', object));
    return found.flatMap(({ inForce }) => inForce?.policy ?? []);
  } catch (error) {
    if (isNotFound(error)) return [];
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

/** But for taintkeeper's own namespaces: native policies ask nobody there. */
async function listTolerators(client: ApiClient): Promise<Tolerator[]> {
  const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed';
  const own = new Set<string>();
  const view = (kind: ToleratorKind) => (object: unknown) => {
    const tolerator = viewTolerator(kind, object, []);
    if (kind === 'Deployment' && isOwn(object)) own.add(tolerator.pod.namespace);
    return tolerator;
  };
  const [pods, ...workloads] = await Promise.all([
    listObjects(client, '/api/v1/pods', viewLivePod, { fieldSelector }),
    ...LISTS.map(({ kind, path }) => listObjects(client, path, view(kind))),
  ]);
  return [...(pods ?? []), ...workloads].flat().filter(({ pod }) => !own.has(pod.namespace));
}

/** Whether a Deployment is taintkeeper, by the label that all of its objects have. */
function isOwn(deployment: unknown): boolean {
  const { labels = {} } = (deployment as { metadata: { labels?: StringMap } }).metadata;
  return selects({ matchLabels: OWN_LABELS }, labels);
}

/** Nothing of a static pod, which nobody is asked about; and who chose the node of a pod, it does not say. */
function viewLivePod(object: unknown): Tolerator[] {
  const { annotations = {} } = (object as { metadata: { annotations?: Readonly<Record<string, string>> } }).metadata;
  if ('kubernetes.io/config.mirror' in annotations) return [];
  const { pod, ...tolerator } = viewTolerator('Pod', object, []);
  return [{ ...tolerator, pod: { ...pod, nodeName: '' } }];
}

/** So many are asked about at once. */
const MAX_AT_ONCE = 8;

/** Asks as the native policies do: of a service account, in these groups and no others. */
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
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: `system:serviceaccount:${namespace}:${serviceAccount}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      resourceAttributes: { group, resource, verb, name: key },
    },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  try {
    const answer = await client.request<{ status?: { allowed?: boolean } }>('POST', path, { body });
    return answer.status?.allowed ?? false;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new InputError([
      `you may not ask what others may: that needs the verb create on subjectaccessreviews.authorization.k8s.io (${error.message})`,
    ]);
  }
}

/** So many names say enough of many. */
const NAMES = 4;
const some = (texts: readonly string[]) => printable(atMost(NAMES, texts).join(', ')) || '-';
const titleOf = ({ namespace, serviceAccount }: Claim) => printable(`${namespace}/${serviceAccount}`);

function formatClaims(refused: readonly Claim[], notes: readonly string[], format: OutputFormat): string {
  return formatAs(format, { data: () => ({ refused, notes }), table: () => table(refused, notes) });
}

function table(refused: readonly Claim[], notes: readonly string[]): string {
  const lines = notes.map((note) => `note: ${note}\n`);
  if (refused.length === 0) return ['nobody would be refused\n', ...lines].join('');
  const bare = refused.some(({ isBare }) => isBare);
  return [
    columns([
      ['SERVICE ACCOUNT', 'MAY NOT TOLERATE', 'WORKLOADS', 'PODS', 'BY', 'POLICY'],
      ...refused.map((claim) => [
        `${titleOf(claim)}${claim.isBare ? ' *' : ''}`,
        claim.key,
        some(claim.workloads),
        String(claim.pods),
        some(claim.by),
        some(claim.rules),
      ]),
    ]),
    '\n',
    ...lines,
    ...(bare ? ['* unless an authorized person creates these pods: the right of a controller does not count\n'] : []),
    `${count(refused.length, 'authorization')} missing: --fix prints what grants ${refused.length === 1 ? 'it' : 'all'}\n`,
  ].join('');
}

/** For `kubectl apply -f -`. */
function formatGrants(refused: readonly Claim[], format: OutputFormat): string {
  const items = grantsFor(refused);
  if (format === 'json') return asJson({ apiVersion: 'v1', kind: 'List', items });
  const comments =
    refused.length === 0
      ? ['Nobody would be refused.']
      : [
          'Whoever may create pods in a namespace may use its service accounts, and so what is granted to them here.',
          ...refused.map(
            (claim) =>
              `- ${titleOf(claim)} tolerates ${claim.key}: ${some(claim.workloads)}${claim.pods > 0 ? `, ${count(claim.pods, 'pod')}` : ''}`,
          ),
        ];
  return [asComments(comments), ...items.map((item) => stringify(item, { lineWidth: 0, ...KUBECTL_YAML }))].join(
    '---\n',
  );
}
