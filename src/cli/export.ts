import { Command, InvalidArgumentError, Option } from 'commander';
import { readBuiltinPolicies } from '../files/builtin-policies.ts';
import { parsePolicies, readPolicyFiles } from '../files/policy-files.ts';
import { InputError } from '../files/text-files.ts';
import { asStaticManifest, manifestsOf, tooLongForStatic } from '../native/native-policy.ts';
import {
  capabilitiesOf,
  exportPolicies,
  type NativeCapabilities,
  NEWEST_KUBERNETES,
  OLDEST_NATIVE_KUBERNETES,
  parseMinor,
} from '../native/translate.ts';
import {
  type ExportedManifests,
  exportAsObject,
  formatExport,
  limitsOf,
  writeStaticManifests,
} from './export-output.ts';
import { repeatable } from './options.ts';
import { asJson } from './output.ts';

interface ExportOptions {
  readonly policies?: readonly string[];
  readonly kubernetes: NativeCapabilities;
  readonly mutating: boolean;
  readonly as: 'policies' | 'static-manifests';
  readonly directory?: string;
  readonly output: 'yaml' | 'json';
}

/** `taintkeeper export`: policies in the API server's own language. */
export function exportCommand(): Command {
  return new Command('export')
    .description(
      'Print policies as ValidatingAdmissionPolicies and MutatingAdmissionPolicies, which the API server enforces without a webhook. What they cannot express is listed on stderr, and in comments.',
    )
    .option(
      '--policies <path>',
      'policy file, or directory of them, or - for standard input; may be repeated (default: the built-in policies)',
      repeatable,
    )
    .addOption(
      new Option('--kubernetes <version>', 'version of the API server, such as 1.36 or v1.34.2')
        .argParser(versionArgument)
        .default(versionArgument(NEWEST_KUBERNETES), NEWEST_KUBERNETES),
    )
    .option(
      '--no-mutating',
      'do without MutatingAdmissionPolicy, which is off by default up to 1.35: what would be restored is refused',
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
  taintkeeper export | kubectl apply -f -
  taintkeeper export --policies policies/ --kubernetes v1.34.2 --no-mutating > native.yaml
  taintkeeper export --policies policies/ --as static-manifests --directory /etc/kubernetes/admission`,
    )
    .action(async (options: ExportOptions) => {
      refuseIdleOptions(options);
      const policies = parsePolicies(
        await (options.policies ? readPolicyFiles(options.policies) : readBuiltinPolicies()),
      );
      const { kubernetes } = options;
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
      await write(exported, options);
      const notes = kubernetes.gated && options.mutating ? [gateNote(kubernetes)] : [];
      for (const line of [...notes, ...exported.flatMap(limitsOf)]) process.stderr.write(`taintkeeper: ${line}\n`);
    });
}

async function write(exported: readonly ExportedManifests[], { as, directory, output, kubernetes }: ExportOptions) {
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

function refuseIdleOptions({ as, directory, output, kubernetes }: ExportOptions): void {
  const files = as === 'static-manifests';
  const faults = [
    ...(files && directory === undefined
      ? ['--as static-manifests needs --directory: the API server reads each kind of policy from a folder of its own']
      : []),
    ...(!files && directory !== undefined ? ['--directory is for --as static-manifests'] : []),
    ...(files && output === 'json' ? ['static manifests are written as YAML: leave out --output'] : []),
    ...(files && !kubernetes.readsManifests
      ? [`Kubernetes ${kubernetes.version} reads no policies from files: that begins with 1.36`]
      : []),
  ];
  if (faults.length > 0) throw new InputError(faults);
}

function gateNote({ version }: NativeCapabilities): string {
  return `Kubernetes ${version} has MutatingAdmissionPolicy only with --feature-gates=MutatingAdmissionPolicy=true and --runtime-config=admissionregistration.k8s.io/v1beta1=true; without them, use --no-mutating`;
}

/** @throws InvalidArgumentError */
function versionArgument(version: string): NativeCapabilities {
  const minor = parseMinor(version);
  if (minor === undefined)
    throw new InvalidArgumentError(`Expected a version of Kubernetes, such as ${NEWEST_KUBERNETES} or v1.34.2.`);
  const capabilities = capabilitiesOf(minor);
  if (capabilities === undefined) {
    throw new InvalidArgumentError(`Kubernetes has ValidatingAdmissionPolicy from ${OLDEST_NATIVE_KUBERNETES} on.`);
  }
  return capabilities;
}
