import { Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../../files/input-error.ts';
import { policiesAsObject } from '../../files/policy-manifest.ts';
import { listFiles } from '../../files/text-files.ts';
import type { PolicySelector } from '../../policy/selector.ts';
import { parseSelector } from '../../policy/selector-text.ts';
import { TAINT_MODES, type TaintMode } from '../../policy/taint-policy.ts';
import { derivePolicies, onlyTransientTaints } from '../../talos/derived-policies.ts';
import { readDeclarations } from '../../talos/lint/read-declarations.ts';
import { capitalized, formatPolicies, noteOnLeftOut, notesOn } from '../../talos/policy-text.ts';
import { type FilenameOptions, filenameOption, requiredFiles } from '../options.ts';
import { asComments, asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';

interface PoliciesOptions extends FilenameOptions {
  readonly nodeSelector?: PolicySelector;
  readonly mode: TaintMode;
  readonly output: 'yaml' | 'json';
}

/** `taintkeeper talos policies`: makes TaintPolicies from machine configurations. */
export function policiesCommand(): Command {
  return new Command('policies')
    .description('Print TaintPolicies that declare the same taints as machine configurations.')
    .argument('[file...]', 'machine configurations, or patches of them, or directories of either; - is standard input')
    .addOption(filenameOption())
    .option(
      '-l, --node-selector <selector>',
      "the nodes of all these files (default: control planes by their role, others by the files' own labels)",
      selectorArgument,
    )
    .addOption(
      new Option('--mode <mode>', 'what happens to an update that removes a taint')
        .choices(TAINT_MODES)
        .default('Restore'),
    )
    .addOption(new Option('-o, --output <format>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
Exit code: 0 printed, 2 bad input, or files that contradict each other.

Examples:
  taintkeeper talos policies controlplane.yaml worker.yaml gpu.yaml | kubectl apply -f -
  taintkeeper talos policies patches/gpu.yaml --node-selector pool=gpu --mode Deny > policies/gpu.yaml`,
    )
    .action(async (args: readonly string[], options: PoliciesOptions) => {
      const paths = requiredFiles(args, options);
      const files = await listFiles(paths);
      if (files.length === 0) throw new InputError([`${paths.join(', ')}: no YAML or JSON file in it`]);
      const declarations = await readDeclarations([...new Set(files)]);
      const derived = derivePolicies(declarations, options);
      const nothing = derived.length > 0 ? [] : [`${files.join(', ')}: no taint for a policy to keep is declared`];
      const leftOut = onlyTransientTaints(declarations).map(noteOnLeftOut);
      switch (options.output) {
        case 'yaml':
          process.stdout.write(`${asComments([...nothing, ...leftOut.map(capitalized)])}${formatPolicies(derived)}`);
          break;
        case 'json':
          process.stdout.write(asJson(policiesAsObject(derived.map(({ policy }) => policy))));
          // JSON has no comments.
          tell(...derived.flatMap(notesOn), ...nothing, ...leftOut);
      }
    });
}

/** @throws InvalidArgumentError */
function selectorArgument(text: string): PolicySelector {
  const result = parseSelector(text);
  if (!result.ok) throw new InvalidArgumentError(`${result.problem}.`);
  return result.selector;
}
