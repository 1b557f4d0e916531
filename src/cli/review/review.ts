import { Command, Option } from 'commander';
import { nestedTooDeep } from '../../admission/admission-review.ts';
import { type Admission, simulateAdmission } from '../../admission/simulate-admission.ts';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { type FilesRead, readDocuments, readEachFile } from '../../files/read-documents.ts';
import { type Reviewable, type Reviewables, reviewablesOf, updatesBetween } from '../../files/reviewables.ts';
import { toleratorsIn } from '../../files/tolerators.ts';
import { DEFAULT_SERVICE_ACCOUNT, neededAuthorizations } from '../../judge/request/pod-authorization.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import { asDaemonSet, refusedTolerations } from '../../objects/daemon-set-object.ts';
import { MalformedObjectError } from '../../objects/object-schema.ts';
import { compilePolicies, type PolicySet } from '../../policy/policy-set.ts';
import { formatPath } from '../../policy/problem.ts';
import { filenameOption, repeatable } from '../options.ts';
import { tell } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import {
  formatReview,
  isRefused,
  REVIEW_FORMATS,
  type Refusal,
  type ReviewedObject,
  type ReviewFormat,
} from './reviewed-objects.ts';

interface ReviewOptions {
  readonly filename?: readonly string[];
  readonly policies?: readonly string[];
  readonly old?: string;
  readonly new?: string;
  readonly user: string;
  readonly group: readonly string[];
  readonly namespace: string;
  readonly patched: boolean;
  readonly output: ReviewFormat;
}

/** `taintkeeper review`: the decisions of the webhook, offline. */
export function reviewCommand(exit: (code: number) => void): Command {
  return new Command('review')
    .description(
      'Judge files as the webhook would: AdmissionReviews, or manifests (Nodes, DaemonSets and lists of them, as being created). Changes nothing.',
    )
    .argument('[file...]', 'YAML or JSON, or directories of it (without subdirectories); - is standard input')
    .addOption(filenameOption())
    .option(
      '--policies <path>',
      'policy file, or directory of them; may be repeated (default: the built-in policies)',
      repeatable,
    )
    .option('--old <file>', 'the objects before an update; requires --new')
    .option('--new <file>', 'the objects after an update; requires --old')
    .option('--user <name>', 'who makes the request, for manifests', 'kubernetes-admin')
    .option('--group <name>', 'a group of the user; may be repeated', repeatable, ['system:authenticated'])
    .option('-n, --namespace <name>', 'namespace of DaemonSets that name none', 'default')
    .option('--patched', 'also show the admitted objects, with the patch applied', false)
    .addOption(new Option('-o, --output <format>', 'output format').choices(REVIEW_FORMATS).default('table'))
    .addHelpText(
      'after',
      `
Exit code: 0 all allowed (patched or not), 1 something denied by a policy, or refused by the API server for its tolerations, 2 bad input.
A file that cannot be read, such as a template of Helm, is named on standard error, and the others are judged.

Examples:
  taintkeeper review kube-flannel.yaml
  helm template cilium cilium/cilium -n kube-system | taintkeeper review -n kube-system -
  taintkeeper review -o sarif manifests/ > review.sarif    for code scanning
  taintkeeper review --policies policies/ --old before.yaml --new after.yaml --user dev@example.com`,
    )
    .action(async (args: readonly string[], options: ReviewOptions) => {
      const files = [...args, ...(options.filename ?? [])];
      if (options.patched && ['github', 'sarif'].includes(options.output))
        throw new InputError([`--patched needs another output than ${options.output}, which has no place for objects`]);
      const policies = await readPolicies(options.policies);
      const { found, faults } = await readInput(files, options);
      // A pipeline without input must not pass.
      if (found.every(({ reviewables, others }) => reviewables.length + others.length === 0))
        throw new InputError([...faults, `${inputOf(files, options)}: nothing to judge`]);
      const judged = judgeEach(found, policies, options);
      const { reviewed, others, notes } = judged;
      const problems = [...faults, ...judged.faults];
      if (reviewed.length + others.length === 0) throw new InputError(problems);
      tell(...notes);
      process.stdout.write(formatReview({ reviewed, others }, options.output, options.patched));
      if (problems.length > 0) throw new InputError(problems);
      exit(reviewed.some(isRefused) ? EXIT.denied : EXIT.ok);
    });
}

/** Why the API server refuses the object, whatever the policies decide. It validates the object after the webhooks have changed it. */
function refusalsOf({ request: { resource, operation, object }, placeOf }: Reviewable): Refusal[] {
  if (resource.group !== 'apps' || resource.resource !== 'daemonsets' || operation === 'DELETE') return [];
  return refusedTolerations(asDaemonSet(object, ['request', 'object'])).map(({ path, message }) => ({
    place: placeOf(path),
    field: formatPath(path),
    message,
  }));
}

async function readPolicies(paths: readonly string[] | undefined): Promise<PolicySet> {
  return compilePolicies(parsePolicies(await (paths ? readPolicyFiles(paths) : readBuiltinPolicies())));
}

/** A note on TolerationRestrictions, which only an API server can evaluate. */
function authorizationNotes(
  documents: readonly SourceDocument[],
  { tolerationRestrictions }: PolicySet,
  namespace: string,
) {
  if (tolerationRestrictions.length === 0) return [];
  const tolerators = documents.flatMap((document) => toleratorsIn(document, namespace));
  return tolerators.flatMap(({ kind, name, pod }) =>
    neededAuthorizations(pod, tolerationRestrictions).map(({ policy, mode, key, fields, tolerations }) => {
      const tolerated = tolerations.map(formatToleration).join(', ');
      const account = `service account ${pod.namespace}/${pod.serviceAccount || DEFAULT_SERVICE_ACCOUNT}`;
      return (
        `${kind} ${pod.namespace}/${name} ${tolerated === '' ? 'has a nodeName' : `tolerates ${tolerated}`}: TolerationRestriction ${policy} ` +
        `(${fields.join(', ')}, ${mode}) asks whether ${account}${kind === 'Pod' ? ', or the person who creates it,' : ''} may tolerate ` +
        `${key}, which is not known here`
      );
    }),
  );
}

/** The content of one file, or the updates between two. */
interface ReviewInput extends Reviewables {
  readonly documents: readonly SourceDocument[];
}

/** Judges each file. One with an object that cannot be read does not hide the others. */
function judgeEach(
  files: readonly ReviewInput[],
  policies: PolicySet,
  { namespace }: Pick<ReviewOptions, 'namespace'>,
) {
  const reviewed: ReviewedObject[] = [];
  const others: string[] = [];
  const notes: string[] = [];
  const faults: string[] = [];
  for (const file of files) {
    try {
      const judged = file.reviewables.map((reviewable) => review(reviewable, policies));
      notes.push(...authorizationNotes(file.documents, policies, namespace));
      reviewed.push(...judged);
      others.push(...file.others);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
    }
  }
  return { reviewed, others, notes, faults };
}

async function readInput(files: readonly string[], options: ReviewOptions): Promise<FilesRead<ReviewInput>> {
  const context = { username: options.user, groups: options.group, namespace: options.namespace };
  if (options.old === undefined && options.new === undefined) {
    if (files.length === 0)
      throw new InputError(['no input files: pass FILE… or - for standard input, or --old and --new']);
    return readEachFile(files, (documents) => ({ documents, ...reviewablesOf(documents, context) }));
  }
  if (options.old === undefined || options.new === undefined) throw new InputError(['--old and --new go together']);
  if (files.length > 0) throw new InputError([`--old and --new take no further files, such as ${files[0]}`]);
  const [before, after] = [await readDocuments([options.old]), await readDocuments([options.new])];
  return { found: [{ ...updatesBetween(before, after, context), documents: [] }], faults: [] };
}

function inputOf(files: readonly string[], { old, new: next }: ReviewOptions): string {
  return (files.length > 0 ? files : [old, next]).join(', ');
}

function review(reviewable: Reviewable, policies: PolicySet): ReviewedObject {
  const { request, place, locate } = reviewable;
  const describe = (admission: Admission): ReviewedObject => ({
    resource: request.resource.resource,
    namespace: request.namespace,
    name: request.name ?? '',
    operation: request.operation,
    place,
    admission,
    refusals: refusalsOf(reviewable),
  });
  try {
    return describe(simulateAdmission(request, policies));
  } catch (thrown) {
    const error = nestedTooDeep(thrown, request) ?? thrown;
    if (!(error instanceof MalformedObjectError)) throw error;
    throw new InputError([`${locate(error.path)}: ${error.problem}`]);
  }
}
