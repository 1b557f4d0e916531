import { type Command, Option } from 'commander';
import { fixGaps, ROLE_TAINT_KEYS } from '../coverage/fix.ts';
import { gapsOf, reportCoverage } from '../coverage/report.ts';
import { readCoverage } from './coverage-cluster.ts';
import { FIX_FORMS, type FixForm, printFix } from './coverage-fix-output.ts';
import {
  filesOf,
  type SelectionOptions,
  type SourceOptions,
  sourceCommand,
  withSelection,
} from './coverage-options.ts';
import { repeatable } from './options.ts';
import { asComments, asJson, tell } from './output.ts';

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
      "a taint to tolerate besides the control plane's; * is any text; may be repeated",
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
Exit code: 0 the remedies are printed, or there is no gap to close; 2 the input or the cluster could not be read.

Examples:
  taintkeeper coverage fix | kubectl apply -f -                have taintkeeper close the gaps
  taintkeeper coverage fix --taint dedicated                   tolerate the taint dedicated, too
  taintkeeper coverage fix --as helm-values -n kube-system     change the values of the chart`,
    )
    .action((args: readonly string[], options: FixOptions) => fix(filesOf(args, options), options));
}

async function fix(files: readonly string[], options: FixOptions): Promise<void> {
  const { as, taint = [], output } = options;
  const input = await readCoverage(files, options, { pods: 'none', withPolicies: as === 'policies' });
  const report = reportCoverage({ ...input, grouped: true, onlyGaps: false });
  const found = fixGaps(gapsOf(input), [...ROLE_TAINT_KEYS, ...taint], input.tolerationPolicies);
  const { comments, text, data } = printFix(found, as, { report, notes: input.notes });
  if (output === 'json') {
    process.stdout.write(asJson(data));
    // JSON has no comments.
    tell(...comments);
  } else {
    process.stdout.write(`${asComments(comments)}${text}`);
    // If standard output is piped into kubectl, the terminal still shows what is left to do.
    if (!process.stdout.isTTY && process.stderr.isTTY) tell(...comments);
  }
}
