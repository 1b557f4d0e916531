import { Command, InvalidArgumentError, Option } from 'commander';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { type PolicyObject, policiesInForce, runsInAudit, whyUnusable } from '../../cluster/policies/policy-object.ts';
import { POLICY_KINDS } from '../../cluster/policies/policy-paths.ts';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import { InputError } from '../../files/input-error.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { exportPolicies } from '../../native/export-policies.ts';
import { asStaticManifest, manifestsOf, tooLongForStatic } from '../../native/manifests.ts';
import {
  capabilitiesOf,
  DEFAULT_KUBERNETES,
  type NativeCapabilities,
  OLDEST_NATIVE_KUBERNETES,
  parseMinor,
} from '../../native/native-capabilities.ts';
import { needsNativePolicies } from '../../policy/backstop.ts';
import type { Policy } from '../../policy/policy.ts';
import { AUDIT_NOTE } from '../../policy/reporting/policy-messages.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { installedPolicies } from '../installed-policies.ts';
import { givenAmong, repeatable } from '../options.ts';
import { asJson } from '../output/format.ts';
import { tell, withProgress } from '../output/stderr.ts';
import { exportNodePolicies } from './derived-node-policies.ts';
import {
  type ExportedManifests,
  exportAsObject,
  formatExport,
  limitsOf,
  writeStaticManifests,
} from './native-manifests.ts';

interface ExportOptions extends ClusterChoice {
  readonly policies?: readonly string[];
  readonly cluster?: true;
  readonly nodes?: readonly string[];
  readonly kubernetes?: NativeCapabilities;
  readonly mutating: boolean;
  readonly as: 'policies' | 'static-manifests';
  readonly directory?: string;
  readonly output: 'yaml' | 'json';
}

/** `taintkeeper export`: prints policies as native policies of the API server, or the taints of nodes as policies. */
export function exportCommand(): Command {
  return new Command('export')
    .description(
      'Print policies as ValidatingAdmissionPolicies and MutatingAdmissionPolicies, which the API server enforces without a webhook. What they cannot express is listed on stderr, and in comments. With --nodes, print the taints of nodes as TaintPolicies instead.',
    )
    .option(
      '--policies <path>',
      'policy file, or directory of them, or - for standard input; may be repeated (default: the built-in policies)',
      repeatable,
    )
    .option('--cluster', 'the policies that are in force in the cluster, for its version of Kubernetes')
    .option(
      '--nodes <path>',
      'file with Nodes, or directory of them, or - for standard input; may be repeated. For each, a TaintPolicy that selects it by kubernetes.io/hostname and requires its taints, except those that Kubernetes or agents remove',
      repeatable,
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(
      new Option(
        '--kubernetes <version>',
        `version of the API server, such as 1.36 or v1.34.2 (default: ${DEFAULT_KUBERNETES}; with --cluster, the cluster's)`,
      ).argParser(versionArgument),
    )
    .option(
      '--no-mutating',
      'use no MutatingAdmissionPolicy, which is off by default up to 1.35: updates that it would restore are refused',
    )
    .addOption(
      new Option('--as <form>', 'objects for the cluster, or files for the API server itself')
        .choices(['policies', 'static-manifests'])
        .default('policies'),
    )
    .option('--directory <dir>', 'where static manifests go: its folders validating and mutating')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
Exit code: 0 exported, even if something is listed as left out; 2 bad input, or a policy that the API server could not evaluate.

Examples:
  taintkeeper export --cluster > native.yaml
  taintkeeper export | kubectl apply -f -                 the built-in policies
  taintkeeper export --policies policies/ --kubernetes v1.34.2 --no-mutating > native.yaml
  taintkeeper export --policies policies/ --as static-manifests --directory /etc/kubernetes/admission
  kubectl get node worker-7 -o yaml | taintkeeper export --nodes - | kubectl apply -f -`,
    )
    .action(async (options: ExportOptions, command: Command) => {
      refuseIdleOptions(command, options);
      if (options.nodes) return exportNodePolicies(options.nodes, options.output);
      const { policies, what, notes, server } = await readSource(options);
      const kubernetes = options.kubernetes ?? capabilitiesFor(server ?? DEFAULT_KUBERNETES);
      refuseForVersion(kubernetes, options);
      const mutating = options.mutating ? kubernetes.mutating : undefined;
      const outcome = exportPolicies(policies, { mutating });
      if (!outcome.ok) throw new InputError(outcome.refusals);
      const exported = outcome.exported.map(({ source, limits, policies: natives }) => ({
        source,
        limits,
        manifests: natives.flatMap((policy) => manifestsOf(policy, mutating ?? 'v1')),
      }));
      if (exported.every(({ manifests }) => manifests.length === 0)) {
        throw new InputError(['nothing of these policies can be exported', ...exported.flatMap(limitsOf)]);
      }
      await write(exported, kubernetes, options);
      tell(
        `${what}, for Kubernetes ${kubernetes.version}: ${policies.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`,
        ...notes,
        ...(kubernetes.gated && options.mutating ? [gateNote(kubernetes)] : []),
        ...exported.flatMap(limitsOf),
      );
    });
}

/** The policies to export. */
interface ExportSource {
  readonly policies: readonly Policy[];
  /** Their source, in a few words. */
  readonly what: string;
  readonly notes: readonly string[];
  /** The version of the API server that they come from. */
  readonly server?: string;
}

/** @throws InputError */
async function readSource(options: ExportOptions): Promise<ExportSource> {
  if (options.cluster) {
    return atCluster(options, (client) => withProgress('reading the policies', readFromCluster(client)));
  }
  if (options.policies) {
    const policies = parsePolicies(await readPolicyFiles(options.policies));
    return { policies, what: `exported ${counted(policies)} of files`, notes: [] };
  }
  const policies = parsePolicies(await readBuiltinPolicies());
  const notes = ['--cluster exports the policies of a cluster, and --policies those of files'];
  return { policies, what: `exported the ${counted(policies)} that are built in`, notes };
}

const counted = ({ length }: readonly Policy[]) => (length === 1 ? '1 policy' : `${length} policies`);

async function readFromCluster(client: ApiClient): Promise<ExportSource> {
  const [{ gitVersion }, objects] = await Promise.all([
    client.request<{ gitVersion: string }>('GET', '/version'),
    installedPolicies(client, ...POLICY_KINDS),
  ]);
  const policies = policiesInForce(objects);
  if (policies.length === 0) throw new InputError([`${client.server}: no policy is in force there`]);
  return {
    policies,
    what: `exported ${counted(policies)} of ${client.server}`,
    notes: [
      ...objects.flatMap(notesOn),
      ...(objects.some(runsInAudit) ? [`${AUDIT_NOTE}. The exported objects act in the modes of the policies`] : []),
    ],
    server: gitVersion,
  };
}

/** Notes on policies of the cluster that differ from what is in force. */
function notesOn(object: PolicyObject): string[] {
  const { kind, name, inForce } = object;
  if (inForce === undefined) return [`${kind} ${name} is left out: ${whyUnusable(object)}`];
  return needsNativePolicies(inForce.policy)
    ? [`${kind} ${name}: the leader writes objects of these names itself, so do not apply both`]
    : [];
}

async function write(
  exported: readonly ExportedManifests[],
  kubernetes: NativeCapabilities,
  { as, directory, output }: ExportOptions,
): Promise<void> {
  if (as === 'policies') {
    const printed = output === 'yaml' ? formatExport(exported, kubernetes) : asJson(exportAsObject(exported));
    process.stdout.write(printed);
    return;
  }
  const faults = exported.flatMap(({ source, manifests }) =>
    manifests.flatMap((manifest) => {
      const fault = tooLongForStatic(manifest);
      return fault === undefined ? [] : [`${source.kind} ${source.name}: ${fault}`];
    }),
  );
  if (faults.length > 0) throw new InputError(faults);
  const files = exported.map((one) => ({ ...one, manifests: one.manifests.map(asStaticManifest) }));
  for (const file of await writeStaticManifests(directory ?? '', files, kubernetes)) process.stdout.write(`${file}\n`);
}

/** The options for native policies. */
const NATIVE_ONLY: readonly (keyof ExportOptions)[] = [
  'cluster',
  'policies',
  'kubernetes',
  'mutating',
  'as',
  'directory',
];

/** @throws InputError */
function refuseIdleOptions(
  command: Command,
  { nodes, cluster, policies, kubeconfig, context, as, directory, output }: ExportOptions,
): void {
  const isForFiles = as === 'static-manifests';
  const faults = [
    ...(nodes && givenAmong(command, NATIVE_ONLY).length > 0
      ? ['with --nodes, only --output is used: it prints TaintPolicies, not native policies']
      : []),
    ...(cluster && policies ? ['--cluster and --policies exclude each other'] : []),
    ...(!cluster && (kubeconfig ?? context) !== undefined ? ['--kubeconfig and --context are for --cluster'] : []),
    ...(isForFiles && directory === undefined
      ? ['--as static-manifests needs --directory: the API server reads each kind of policy from a folder of its own']
      : []),
    ...(!isForFiles && directory !== undefined ? ['--directory is for --as static-manifests'] : []),
    ...(isForFiles && output === 'json' ? ['static manifests are written as YAML: leave out --output'] : []),
  ];
  if (faults.length > 0) throw new InputError(faults);
}

function refuseForVersion({ version, readsManifests }: NativeCapabilities, { as }: ExportOptions): void {
  if (as === 'static-manifests' && !readsManifests)
    throw new InputError([`Kubernetes ${version} reads no policies from files: that needs 1.36 or newer`]);
}

function gateNote({ version }: NativeCapabilities): string {
  return `Kubernetes ${version} has MutatingAdmissionPolicy only with --feature-gates=MutatingAdmissionPolicy=true and --runtime-config=admissionregistration.k8s.io/v1beta1=true; without them, use --no-mutating`;
}

/** @throws InputError */
function capabilitiesFor(version: string): NativeCapabilities {
  const capabilities = capabilitiesOf(parseMinor(version) ?? 0);
  if (capabilities) return capabilities;
  throw new InputError([
    `Kubernetes ${version} has no ValidatingAdmissionPolicy: that needs ${OLDEST_NATIVE_KUBERNETES} or newer`,
  ]);
}

/** @throws InvalidArgumentError */
function versionArgument(version: string): NativeCapabilities {
  const minor = parseMinor(version);
  if (minor === undefined)
    throw new InvalidArgumentError(`Expected a version of Kubernetes, such as ${DEFAULT_KUBERNETES} or v1.34.2.`);
  const capabilities = capabilitiesOf(minor);
  if (capabilities === undefined) {
    throw new InvalidArgumentError(`Kubernetes has ValidatingAdmissionPolicy from ${OLDEST_NATIVE_KUBERNETES} on.`);
  }
  return capabilities;
}
