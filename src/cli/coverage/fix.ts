import { type Command, Option } from 'commander';
import { fixGaps } from '../../coverage/gap-fix.ts';
import { gapsOf } from '../../coverage/gaps.ts';
import { reportCoverage } from '../../coverage/report.ts';
import { InputError } from '../../files/input-error.ts';
import { ROLE_TAINT_KEYS } from '../../kubernetes/roles.ts';
import { repeatable } from '../options.ts';
import { asComments, asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';
import { fixComments } from './fix-comments.ts';
import { FIX_FORMS, type FixForm, FORMS } from './fix-forms.ts';
import { filesOf, readCoverage, type SourceOptions, sourceCommand } from './input-source.ts';
import { type SelectionOptions, withSelection } from './selected-input.ts';

interface FixOptions extends SourceOptions, SelectionOptions {
  readonly as: FixForm;
  readonly taint?: readonly string[];
  readonly output: 'text' | 'json';
}

/** `taintkeeper coverage fix`: prints what closes the gaps. */
export function fixCommand(): Command {
  return withSelection(sourceCommand('fix'))
    .description('Print policies or patches that close the gaps of coverage. Changes nothing.')
    .addOption(
      new Option(
        '--as <form>',
        'what to print: TolerationPolicies, kubectl patch commands, values for the Helm charts of Cilium, Flannel and Calico, or a component of Kustomize',
      )
        .choices(FIX_FORMS)
        .default('policies'),
    )
    .option(
      '--taint <key>',
      "a taint to tolerate besides the control plane's; * is any text, but covers no taint that Kubernetes or an operator removes; may be repeated",
      repeatable,
    )
    .addOption(
      new Option('-o, --output <format>', 'output format; with json, the comments go to standard error')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
Exit code: 0 the remedies are printed, or there is no gap to close; 2 the input or the cluster could not be read. A file that cannot be
read is named on standard error, and the remedies for the others are printed.

Examples:
  taintkeeper coverage fix | kubectl apply -f -                have taintkeeper close the gaps
  taintkeeper coverage fix --taint dedicated                   tolerate the taint dedicated, too
  taintkeeper coverage fix --as helm-values -n kube-system     change the values of the chart`,
    )
    .action((args: readonly string[], options: FixOptions) => printFix(filesOf(args, options), options));
}

async function printFix(files: readonly string[], options: FixOptions): Promise<void> {
  const { as, taint = [], output } = options;
  const policies = as === 'policies' ? (['TaintPolicy', 'TolerationPolicy'] as const) : (['TaintPolicy'] as const);
  const input = await readCoverage(files, options, { policies });
  const report = reportCoverage({ ...input, grouped: true, onlyGaps: false });
  const fix = fixGaps(gapsOf(input), [...ROLE_TAINT_KEYS, ...taint], input.tolerationPolicies, {
    byPolicies: as === 'policies',
  });
  const form = FORMS[as](fix);
  const comments = fixComments(fix, form, { report, ...input });
  if (output === 'json') {
    process.stdout.write(asJson(form.data));
    // JSON has no comments.
    tell(...comments);
  } else {
    process.stdout.write(`${asComments(comments)}${form.text}`);
    // If standard output is piped into kubectl, the terminal still shows what is left to do.
    if (!process.stdout.isTTY && process.stderr.isTTY) tell(...comments);
  }
  if (input.unread.length > 0) throw new InputError(input.unread);
}
