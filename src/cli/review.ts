import { Command, Option } from 'commander';
import { type Admission, admit, type Records } from '../admission/admit.ts';
import { type AdmissionRequest, nestedTooDeep } from '../admission/review.ts';
import { askedKeys, DEFAULT_SERVICE_ACCOUNT } from '../coverage/authorization.ts';
import { readBuiltinPolicies } from '../files/builtin-policies.ts';
import { readDocuments, type SourceDocument } from '../files/documents.ts';
import { parsePolicies, readPolicyFiles } from '../files/policy-files.ts';
import { type Reviewable, reviewablesOf, updatesBetween } from '../files/reviewables.ts';
import { InputError } from '../files/text-files.ts';
import { toleratorsIn } from '../files/tolerators.ts';
import { withRecord } from '../judge/node-record.ts';
import { notesNotEstablished, patternNotes } from '../judge/pattern-notes.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { asNode, viewNode } from '../objects/node-object.ts';
import { MalformedObjectError } from '../objects/object-meta.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import { EXIT, filenameOption, repeatable } from './options.ts';
import { tell } from './output.ts';
import { formatReview, REVIEW_FORMATS, type ReviewedObject, type ReviewFormat } from './review-output.ts';

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
      'Judge files as the webhook would: AdmissionReviews, or manifests (Nodes, DaemonSets and lists of them, as being created). A key with * protects what the NodeTaintRecords among them list. Changes nothing.',
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
Exit code: 0 all allowed (patched or not), 1 something denied, 2 bad input.

Examples:
  taintkeeper review kube-flannel.yaml
  helm template cilium cilium/cilium -n kube-system | taintkeeper review -n kube-system -
  taintkeeper review -o sarif manifests/ > review.sarif    for code scanning; -o junit for test reports
  taintkeeper review --policies policies/ --old before.yaml --new after.yaml --user dev@example.com`,
    )
    .action(async (args: readonly string[], options: ReviewOptions) => {
      const files = [...args, ...(options.filename ?? [])];
      if (options.patched && ['github', 'sarif', 'junit'].includes(options.output))
        throw new InputError([`--patched needs another output than ${options.output}, which has no place for objects`]);
      const policies = await readPolicies(options.policies);
      const { reviewables, others, documents, records } = await readInput(files, options);
      const recorded: Records = { recordOf: (name) => records.get(name), now: Date.now };
      // A pipeline without input must not pass.
      if (reviewables.length + others.length === 0)
        throw new InputError([`${inputOf(files, options)}: nothing to judge`]);
      const reviewed = reviewables.map((reviewable) => review(reviewable, policies, recorded));
      for (const { request } of reviewables) for (const note of notesOf(request, policies, recorded)) tell(note);
      for (const note of authorizationNotes(documents, policies, options.namespace)) tell(note);
      process.stdout.write(formatReview({ reviewed, others }, options.output, options.patched));
      exit(reviewed.some(({ admission }) => admission.result === 'denied') ? EXIT.denied : EXIT.ok);
    });
}

async function readPolicies(paths: readonly string[] | undefined): Promise<PolicySet> {
  const policies = parsePolicies(await (paths ? readPolicyFiles(paths) : readBuiltinPolicies()));
  for (const policy of policies) {
    for (const note of patternNotes(policy)) tell(`${policy.kind} ${policy.name}: ${note}`);
  }
  return compilePolicies(policies);
}

/** Notes on updates that a policy does not deny although the user might expect it. */
function notesOf(
  { operation, resource, name, object, oldObject }: AdmissionRequest,
  policies: PolicySet,
  records: Records,
): string[] {
  if (operation !== 'UPDATE' || resource.resource !== 'nodes') return [];
  const before = asNode(oldObject, []);
  const view = viewNode(before, name ?? '');
  const after = viewNode(asNode(object, []), name ?? '');
  const notes = notesNotEstablished(
    withRecord(view, records.recordOf(view.name), before.metadata.uid ?? undefined),
    after,
    policies.taintPolicies,
  );
  return notes.map((note) => `nodes/${name}: ${note}`);
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
    askedKeys(pod, tolerationRestrictions).map(({ policy, mode, key, fields, tolerations }) => {
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

async function readInput(files: readonly string[], options: ReviewOptions) {
  const context = { username: options.user, groups: options.group, namespace: options.namespace };
  if (options.old === undefined && options.new === undefined) {
    if (files.length === 0)
      throw new InputError(['no input files: pass FILE… or - for standard input, or --old and --new']);
    const documents = await readDocuments(files);
    return { ...reviewablesOf(documents, context), documents };
  }
  if (options.old === undefined || options.new === undefined) throw new InputError(['--old and --new go together']);
  if (files.length > 0) throw new InputError([`--old and --new take no further files, such as ${files[0]}`]);
  const [before, after] = [await readDocuments([options.old]), await readDocuments([options.new])];
  return { ...updatesBetween(before, after, context), documents: [] };
}

function inputOf(files: readonly string[], { old, new: next }: ReviewOptions): string {
  return (files.length > 0 ? files : [old, next]).join(', ');
}

function review({ request, place, locate }: Reviewable, policies: PolicySet, records: Records): ReviewedObject {
  const describe = (admission: Admission): ReviewedObject => ({
    resource: request.resource.resource,
    namespace: request.namespace,
    name: request.name ?? '',
    operation: request.operation,
    place,
    admission,
  });
  try {
    return describe(admit(request, policies, records));
  } catch (thrown) {
    const error = nestedTooDeep(thrown, request) ?? thrown;
    if (!(error instanceof MalformedObjectError)) throw error;
    throw new InputError([`${locate(error.path)}: ${error.problem}`]);
  }
}
