import { stringify } from 'yaml';
import type { SchedulingNode } from '../coverage/coverage.ts';
import type { CoverageFix, FixableDaemonSet, LeftGap } from '../coverage/fix.ts';
import type { CoverageReport } from '../coverage/report.ts';
import { KUBECTL_YAML } from '../files/documents.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { atMost, count } from '../kubernetes/text.ts';
import { asComments } from './output.ts';

type Fix = CoverageFix<FixableDaemonSet, SchedulingNode>;

/** What `taintkeeper coverage --fix` prints: policies for `kubectl apply -f -`, with the comments. */
export function formatFix({ policies }: Fix, comments: readonly string[]): string {
  const manifests = policies.map((policy) => stringify(policy, { lineWidth: 0, ...KUBECTL_YAML }));
  return [asComments(comments), ...manifests].join('---\n');
}

/** What the policies do, and what is left. */
export function commentsOn(fix: Fix, report: CoverageReport, notes: readonly string[]): string[] {
  const { policies, closed } = fix;
  return [
    ...(policies.length > 0
      ? [
          `Closes ${count(closed.length, 'gap')}. existing: Patch rolls the pods of these DaemonSets, one DaemonSet after the other;`,
          'with Report, they get their tolerations when their templates change next.',
        ]
      : ['There is no gap to close.']),
    ...closed.map(({ daemonSet, taints, nodes }) => `- ${gap(daemonSet, taints.map(formatTaint), nodes.length)}`),
    ...section('Left as it is:', fix.left.map(leftGap)),
    ...section('No toleration helps, because the DaemonSet itself does not select these nodes:', meant(report)),
    ...notes.map((note) => `note: ${note}`),
  ];
}

/** More lines than that nobody reads. */
const MAX_LINES = 50;

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...atMost(MAX_LINES, lines).map((line) => `- ${line}`)];
}

function leftGap({ gap: { daemonSet, taints, nodes }, because }: LeftGap<FixableDaemonSet, SchedulingNode>): string {
  const what = gap(daemonSet, taints.map(formatTaint), nodes.length);
  switch (because.kind) {
    case 'notAsked':
      return `${what}: if it is meant to run there, add ${because.keys.map((key) => `--taint ${key}`).join(' ')}`;
    case 'optsOut':
      return `${what}: it is annotated ${IGNORE_ANNOTATION}`;
    case 'notValid':
      return `${what}: no policy can name this DaemonSet or this taint`;
  }
}

function meant({ daemonSets, nodeGroups }: CoverageReport): string[] {
  return daemonSets.flatMap(({ namespace, name, cells }) => {
    const off = cells.map(({ obstacles = [] }, index) => ({
      reasons: obstacles.filter(({ kind }) => kind !== 'taint').map(({ what }) => what),
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
