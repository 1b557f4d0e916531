import { type Command, Option } from 'commander';
import { type CoverageFix, fixGaps, type LeftGap } from '../../coverage/gap-policies.ts';
import { rolloutCommandFor } from '../../coverage/gap-remedy.ts';
import { gapsOf } from '../../coverage/gaps.ts';
import { missingTolerationsOf } from '../../coverage/missing-tolerations.ts';
import { helmValues, kustomizeComponent, patchCommands, type Remedies } from '../../coverage/remedies.ts';
import { type CoverageReport, reportCoverage } from '../../coverage/report.ts';
import type { FixableDaemonSet, InstalledDaemonSet } from '../../coverage/workload.ts';
import { KUBECTL_YAML } from '../../files/documents.ts';
import { yamlText } from '../../files/printed-data.ts';
import { InputError } from '../../files/text-files.ts';
import { IGNORE_ANNOTATION } from '../../judge/daemon-set-view.ts';
import { ROLE_TAINT_KEYS } from '../../kubernetes/roles.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { atMost, count, shellWord } from '../../kubernetes/text.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import type { Obstacle } from '../../scheduling/obstacle.ts';
import { repeatable } from '../options.ts';
import { asComments, asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';
import type { CoverageInput, RefusedDaemonSet } from './input.ts';
import { type SelectionOptions, withSelection } from './selection.ts';
import { filesOf, readCoverage, type SourceOptions, sourceCommand } from './source.ts';

/** How to close gaps: by policies, by patches, or in the sources of the DaemonSets. */
const FIX_FORMS = ['policies', 'patch', 'helm-values', 'kustomize'] as const;
type FixForm = (typeof FIX_FORMS)[number];

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
    .action((args: readonly string[], options: FixOptions) => fix(filesOf(args, options), options));
}

async function fix(files: readonly string[], options: FixOptions): Promise<void> {
  const { as, taint = [], output } = options;
  const policies = as === 'policies' ? (['TaintPolicy', 'TolerationPolicy'] as const) : (['TaintPolicy'] as const);
  const input = await readCoverage(files, options, { policies });
  const report = reportCoverage({ ...input, grouped: true, onlyGaps: false });
  const fix = fixGaps(gapsOf(input), [...ROLE_TAINT_KEYS, ...taint], input.tolerationPolicies);
  const { comments, text, data } = printFix(fix, as, { report, ...input });
  if (output === 'json') {
    process.stdout.write(asJson(data));
    // JSON has no comments.
    tell(...comments);
  } else {
    process.stdout.write(`${asComments(comments)}${text}`);
    // If standard output is piped into kubectl, the terminal still shows what is left to do.
    if (!process.stdout.isTTY && process.stderr.isTTY) tell(...comments);
  }
  if (input.unread.length > 0) throw new InputError(input.unread);
}

type Fix = CoverageFix<InstalledDaemonSet, SchedulingNode>;

/** What `taintkeeper coverage fix` prints. */
interface PrintedFix {
  /** What it does, and what remains. */
  readonly comments: readonly string[];
  /** The manifests to apply, without comments. */
  readonly text: string;
  readonly data: object;
}

function printFix(
  fix: Fix,
  form: FixForm,
  { report, notes, refused }: Pick<CoverageInput, 'notes' | 'refused'> & { readonly report: CoverageReport },
): PrintedFix {
  const { text, data, left, about } = FORMS[form](fix);
  const leftSets = new Set(left.map(({ daemonSet }) => daemonSet));
  const closed = fix.closed.filter(({ daemonSet }) => !leftSets.has(daemonSet));
  const comments = [
    ...(closed.length > 0 ? [`Closes ${count(closed.length, 'gap')}${about[0]}`, ...about.slice(1)] : []),
    ...(closed.length > 0 ? [] : [nothingClosed(fix, refused)]),
    ...closed.map(({ daemonSet, taints, nodes }) => `- ${gap(daemonSet, taints.map(formatTaint), nodes.length)}`),
    ...section('The API server refuses these, so there is nothing for them:', refused.map(refusal)),
    ...section('Not changed:', [
      ...left.map(({ daemonSet: { namespace, name }, why }) => `${namespace}/${name}: ${why}`),
      ...fix.left.map(leftGap),
    ]),
    ...section('No gaps, because Kubernetes or an agent removes these taints:', waitingTaints(fix)),
    ...leftOut(report),
    ...section('No toleration helps, because the DaemonSet itself does not select these nodes:', meant(report)),
    ...notes.map((note) => `note: ${note}`),
  ];
  return { comments, text, data };
}

/** The first line where nothing is printed. */
function nothingClosed({ closed, left }: Fix, refused: readonly RefusedDaemonSet[]): string {
  if (closed.length > 0) return 'No gap can be closed like this.';
  if (left.length > 0) return `No gap is closed: ${count(left.length, 'gap')} left.`;
  return refused.length > 0 ? 'No gap is closed.' : 'There is no gap to close.';
}

function refusal({ namespace, name, problems }: RefusedDaemonSet): string {
  return `${namespace}/${name}: ${problems.join('; ')}`;
}

/** One line for each taint that DaemonSets wait for. */
function waitingTaints({ waiting }: Fix): string[] {
  const taints = new Map(waiting.flatMap((gap) => gap.taints.map((taint) => [formatTaint(taint), taint.key])));
  return [...taints].map(([text, key]) => {
    const daemonSets = new Set(
      waiting.filter((gap) => gap.taints.some((taint) => formatTaint(taint) === text)).map((gap) => gap.daemonSet),
    );
    return `${text} keeps ${count(daemonSets.size, 'DaemonSet')} off for a while: if one must run before, add --taint ${shellWord(key)} and name it with --daemonset`;
  });
}

interface Formed {
  readonly text: string;
  readonly data: object;
  readonly left: Remedies<unknown>['left'];
  /** The end of the sentence on the number of closed gaps, and the lines after it. */
  readonly about: readonly string[];
}

const FORMS: Readonly<Record<FixForm, (fix: Fix) => Formed>> = {
  policies: ({ policies, closed }) => ({
    text: policies.map((policy) => `---\n${asManifest(policy)}`).join(''),
    data: { apiVersion: 'v1', kind: 'List', items: policies },
    left: [],
    about: [
      '. Each DaemonSet gets its tolerations with its next rollout. existing: Patch has the leader do that, one after the other:',
      'it needs the right patchDaemonSets (off by default). Without it, once the policies are Ready (kubectl get tolerationpolicies):',
      ...atMost(
        MAX_ROLLOUTS,
        missingTolerationsOf(closed).map(({ daemonSet }) => `  ${rolloutCommandFor(daemonSet)}`),
      ),
    ],
  }),
  patch({ closed }) {
    const { remedies, left } = patchCommands(missingTolerationsOf(closed));
    const commands = remedies.map(({ daemonSet: { namespace, name }, ...rest }) => ({ namespace, name, ...rest }));
    const lines = commands.map(({ namespace, name, command, revertedBy }) => {
      const warning = `${namespace}/${name} is managed by ${revertedBy}: change it there, too, or the patch is reverted`;
      return `${revertedBy === undefined ? '' : asComments([warning])}${command}\n`;
    });
    return {
      text: lines.join(''),
      data: { commands },
      left,
      about: ['. Each command rolls the pods of its DaemonSet.'],
    };
  },
  'helm-values'({ closed }) {
    const { remedies: releases, left } = helmValues(missingTolerationsOf(closed));
    const documents = releases.map(({ chart, release, namespace, values }) => {
      const whose = release === undefined ? 'the release' : `release ${release}`;
      return `${asComments([`for ${whose} of chart ${chart} in namespace ${namespace}`])}${asManifest(values)}`;
    });
    return {
      text: documents.join('---\n'),
      data: { releases },
      left,
      about: [
        ', with these values added to those of the release. Helm replaces lists: each has what its DaemonSet tolerates now, too.',
        'For a chart that is a dependency of another one, put them below its name.',
      ],
    };
  },
  kustomize({ closed }) {
    const { remedies, left } = kustomizeComponent(missingTolerationsOf(closed), asManifest);
    return {
      text: remedies.map(asManifest).join(''),
      data: remedies[0] ?? {},
      left,
      about: [
        '. Put this as kustomization.yaml into a folder, and the folder under `components` where the DaemonSets are.',
        "A list takes the place of the manifest's: each has what its DaemonSet tolerates now, too.",
      ],
    };
  },
};

function asManifest(object: object): string {
  return yamlText(object, KUBECTL_YAML);
}

/** Limits the lines of a list. */
const MAX_LINES = 50;
const MAX_ROLLOUTS = 10;

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...atMost(MAX_LINES, lines).map((line) => `- ${line}`)];
}

function leftGap({ gap: { daemonSet, taints, nodes }, because }: LeftGap<FixableDaemonSet, SchedulingNode>): string {
  const what = gap(daemonSet, taints.map(formatTaint), nodes.length);
  switch (because.kind) {
    case 'asked':
      return `${what}: TolerationPolicy ${because.by.join(', ')} already requires it, from the next rollout on: ${rolloutCommandFor(daemonSet)}`;
    case 'notAsked':
      return `${what}: if it is meant to run there, add ${because.keys.map((key) => `--taint ${shellWord(key)}`).join(' ')}`;
    case 'optsOut':
      return `${what}: it is annotated ${IGNORE_ANNOTATION}`;
    case 'notValid':
      return `${what}: no policy can name this DaemonSet or this taint`;
  }
}

/** Obstacles by which the DaemonSet excludes a node. */
const SELECTING: ReadonlySet<Obstacle['kind']> = new Set(['nodeSelector', 'nodeAffinity', 'nodeName']);

/** Nodes for which no toleration is added, even with `--taint`. */
function leftOut({ nodeGroups }: CoverageReport): string[] {
  const nodes = nodeGroups.flatMap(({ virtual, nodes }) => (virtual === undefined ? [] : nodes));
  return nodes.length === 0
    ? []
    : [`Virtual nodes are left out, because they run no DaemonSets: ${count(nodes.length, 'node')}.`];
}

function meant({ daemonSets, nodeGroups }: CoverageReport): string[] {
  return daemonSets.flatMap(({ namespace, name, cells }) => {
    const off = cells.map(({ obstacles = [] }, index) => ({
      reasons: obstacles.filter(({ kind }) => SELECTING.has(kind)).map(({ what }) => what),
      nodes: nodeGroups[index]?.nodes.length ?? 0,
    }));
    return [...Map.groupBy(off, ({ reasons }) => reasons.join('; '))]
      .filter(([reasons]) => reasons !== '')
      .map(([reasons, found]) => {
        const nodes = found.reduce((sum, { nodes }) => sum + nodes, 0);
        return `${namespace}/${name} on ${count(nodes, 'node')}: ${reasons}`;
      });
  });
}

function gap({ namespace, name }: FixableDaemonSet, taints: readonly string[], nodes: number): string {
  return `${namespace}/${name} on ${count(nodes, 'node')}: ${taints.join(', ')}`;
}
