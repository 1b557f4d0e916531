import { Command, Option } from 'commander';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import { InputError } from '../../files/input-error.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { type FilesRead, readDocuments, readEachFile } from '../../files/read-documents.ts';
import { reviewablesOf, updatesBetween } from '../../files/reviewables.ts';
import { compilePolicies, type PolicySet } from '../../policy/policy-set.ts';
import { type FilenameOptions, filenameOption, givenFiles, repeatable } from '../options.ts';
import { tell } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import { judgeFiles, type ReviewInput } from './judged-files.ts';
import { formatReview, isRefused, REVIEW_FORMATS, type ReviewFormat } from './reviewed-objects.ts';

interface ReviewOptions extends FilenameOptions {
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
      const files = givenFiles(args, options);
      if (options.patched && ['github', 'sarif'].includes(options.output))
        throw new InputError([`--patched needs another output than ${options.output}, which has no place for objects`]);
      const policies = await readPolicies(options.policies);
      const { found, faults } = await readInput(files, options);
      // A pipeline without input must not pass.
      if (found.every(({ reviewables, others }) => reviewables.length + others.length === 0))
        throw new InputError([...faults, `${inputOf(files, options)}: nothing to judge`]);
      const judged = judgeFiles(found, policies, options.namespace);
      const { reviewed, others, notes } = judged;
      const problems = [...faults, ...judged.faults];
      if (reviewed.length + others.length === 0) throw new InputError(problems);
      tell(...notes);
      process.stdout.write(formatReview({ reviewed, others }, options.output, options.patched));
      if (problems.length > 0) throw new InputError(problems);
      exit(reviewed.some(isRefused) ? EXIT.denied : EXIT.ok);
    });
}

async function readPolicies(paths: readonly string[] | undefined): Promise<PolicySet> {
  return compilePolicies(parsePolicies(await (paths ? readPolicyFiles(paths) : readBuiltinPolicies())));
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
