import type { LeftGap } from '../../coverage/gap-fix.ts';
import { rolloutCommandFor } from '../../coverage/gap-remedy.ts';
import type { CoverageReport } from '../../coverage/report.ts';
import type { FixableDaemonSet } from '../../coverage/workload.ts';
import { IGNORE_ANNOTATION, MAX_TOLERATIONS } from '../../judge/daemon-set-view.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import type { Obstacle } from '../../scheduling/obstacle.ts';
import { atMost, count } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import type { CoverageInput, RefusedDaemonSet } from './coverage-input.ts';
import type { Fix, PrintedForm } from './fix-forms.ts';

/** What the output of `taintkeeper coverage fix` does, and what remains: one line each. */
export function fixComments(
  fix: Fix,
  { left, about }: Pick<PrintedForm, 'left' | 'about'>,
  { report, notes, refused }: Pick<CoverageInput, 'notes' | 'refused'> & { readonly report: CoverageReport },
): string[] {
  const leftSets = new Set(left.map(({ daemonSet }) => daemonSet));
  const closed = fix.closed.filter(({ daemonSet }) => !leftSets.has(daemonSet));
  return [
    ...(closed.length > 0
      ? [`Closes ${count(closed.length, 'gap')}${about[0]}`, ...about.slice(1)]
      : [nothingClosed(fix, refused)]),
    ...closed.map(({ daemonSet, taints, nodes }) => `- ${gapText(daemonSet, taints.map(formatTaint), nodes.length)}`),
    ...section('The API server refuses these, so there is nothing for them:', refused.map(refusal)),
    ...section('Not changed:', [
      ...left.map(({ daemonSet: { namespace, name }, why }) => `${namespace}/${name}: ${why}`),
      ...fix.left.map(leftGap),
    ]),
    ...section('No gaps, because Kubernetes, an agent or taintkeeper removes these taints:', waitingTaints(fix)),
    ...virtualNodes(report),
    ...section('No toleration helps, because the DaemonSet itself does not select these nodes:', excludedNodes(report)),
    ...notes.map((note) => `note: ${note}`),
  ];
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
function waitingTaints({ transient }: Fix): string[] {
  const taints = new Map(transient.flatMap((gap) => gap.taints.map((taint) => [formatTaint(taint), taint.key])));
  return [...taints].map(([text, key]) => {
    const daemonSets = new Set(
      transient.filter((gap) => gap.taints.some((taint) => formatTaint(taint) === text)).map((gap) => gap.daemonSet),
    );
    return `${text} keeps ${count(daemonSets.size, 'DaemonSet')} off for a while: if one must run before, add --taint ${shellWord(key)} and name it with --daemonset`;
  });
}

/** Limits the lines of a list. */
const MAX_LINES = 50;

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...atMost(MAX_LINES, lines).map((line) => `- ${line}`)];
}

function leftGap({ gap: { daemonSet, taints, nodes }, because }: LeftGap<FixableDaemonSet, SchedulingNode>): string {
  const what = gapText(daemonSet, taints.map(formatTaint), nodes.length);
  switch (because.kind) {
    case 'alreadyRequired':
      return `${what}: TolerationPolicy ${because.by.join(', ')} already requires it, from the next rollout on: ${rolloutCommandFor(daemonSet)}`;
    case 'keyNotNamed':
      return `${what}: if it is meant to run there, add ${because.keys.map((key) => `--taint ${shellWord(key)}`).join(' ')}`;
    case 'optsOut':
      return `${what}: it is annotated ${IGNORE_ANNOTATION}`;
    case 'tooManyTolerations':
      return `${what}: no policy adds one to a DaemonSet with more than ${MAX_TOLERATIONS} tolerations: --as patch prints a patch`;
    case 'notValid':
      return `${what}: no policy can name this DaemonSet or this taint`;
  }
}

/** Nodes for which no toleration is added, even with `--taint`. */
function virtualNodes({ nodeGroups }: CoverageReport): string[] {
  const nodes = nodeGroups.flatMap(({ virtual, nodes }) => (virtual === undefined ? [] : nodes));
  return nodes.length === 0
    ? []
    : [`Virtual nodes are left out, because they run no DaemonSets: ${count(nodes.length, 'node')}.`];
}

/** Obstacles by which the DaemonSet excludes a node. */
const SELECTING: ReadonlySet<Obstacle['kind']> = new Set(['nodeSelector', 'nodeAffinity', 'nodeName']);

function excludedNodes({ daemonSets, nodeGroups }: CoverageReport): string[] {
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

function gapText({ namespace, name }: FixableDaemonSet, taints: readonly string[], nodes: number): string {
  return `${namespace}/${name} on ${count(nodes, 'node')}: ${taints.join(', ')}`;
}
