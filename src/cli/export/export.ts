import { Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../../files/input-error.ts';
import {
  asStaticExport,
  type ExportedPolicy,
  exportPolicies,
  type NativeExport,
} from '../../native/export-policies.ts';
import {
  capabilitiesOf,
  DEFAULT_KUBERNETES,
  type NativeCapabilities,
  OLDEST_NATIVE_KUBERNETES,
  parseMinor,
} from '../../native/native-capabilities.ts';
import { CLUSTER_OPTIONS } from '../cluster-options.ts';
import { givenAmong, repeatable } from '../options.ts';
import { asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';
import { exportNodePolicies } from './derived-node-policies.ts';
import { readSource, type SourceOptions } from './export-source.ts';
import { exportAsObject, formatExport, limitsOf, writeStaticManifests } from './native-manifests.ts';

interface ExportOptions extends SourceOptions {
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
      'file with Nodes, or directory of them, or - for standard input; may be repeated. For each, a TaintPolicy that selects it by kubernetes.io/hostname and requires its taints, except those that Kubernetes or agents remove, and the startup taints of TaintPolicies in these files',
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
  (kubectl get taintpolicies -o yaml && echo --- && kubectl get node worker-7 -o yaml) | taintkeeper export --nodes - | kubectl apply -f -`,
    )
    .action(async (options: ExportOptions, command: Command) => {
      refuseIdleOptions(command, options);
      if (options.nodes) return exportNodePolicies(options.nodes, options.output);
      const { policies, what, notes, server } = await readSource(options);
      const kubernetes = options.kubernetes ?? capabilitiesFor(server ?? DEFAULT_KUBERNETES);
      refuseForVersion(kubernetes, options);
      const mutating = options.mutating ? kubernetes.mutating : undefined;
      const exported = exportedBy(exportPolicies(policies, { mutating }));
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

async function write(
  exported: readonly ExportedPolicy[],
  kubernetes: NativeCapabilities,
  { as, directory, output }: ExportOptions,
): Promise<void> {
  if (as === 'policies') {
    const printed = output === 'yaml' ? formatExport(exported, kubernetes) : asJson(exportAsObject(exported));
    process.stdout.write(printed);
    return;
  }
  const files = await writeStaticManifests(directory ?? '', exportedBy(asStaticExport(exported)), kubernetes);
  process.stdout.write(files.map((file) => `${file}\n`).join(''));
}

/** @throws InputError */
function exportedBy(outcome: NativeExport): readonly ExportedPolicy[] {
  if (outcome.ok) return outcome.exported;
  throw new InputError(outcome.refusals);
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
