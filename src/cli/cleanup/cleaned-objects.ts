import type { Cleaned, CleaningOptions } from '../../cleanup/cleaning.ts';
import { type Leftover, removableOn, startupTaintsOn, stayingOn } from '../../cleanup/leftover.ts';
import type { Leftovers } from '../../cleanup/leftovers.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { Level } from '../../explain/display.ts';
import { objectTitle } from '../../kubernetes/object-title.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { formatToleration, type Toleration } from '../../kubernetes/toleration.ts';
import { count } from '../../text/counts.ts';
import { printable } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { columns, type TableCell } from '../output/table.ts';

type Shown = Pick<CleaningOptions, 'removesTolerations' | 'dryRun'>;

export interface Cleanup {
  readonly cleaned: readonly Cleaned[];
  /** The TaintPolicies whose startup taints are unknown, because their specs cannot be used. */
  readonly unusable: readonly PolicyObject[];
  /** See {@link Leftovers.isDefined}. */
  readonly isDefined: boolean;
}

/** The result of `taintkeeper cleanup`. */
export function formatCleanup(cleanup: Cleanup, shown: Shown, format: OutputFormat): string {
  return formatAs(format, { data: () => dataOf(cleanup, shown), table: (look) => tableOf(cleanup, shown, look) });
}

function dataOf({ cleaned, unusable, isDefined }: Cleanup, { removesTolerations, dryRun }: Shown): object {
  return {
    dryRun,
    objects: cleaned.map(({ leftover, result, problem }) => ({
      resource: leftover.resource,
      ...(leftover.namespace === undefined ? {} : { namespace: leftover.namespace }),
      name: leftover.name,
      ...(startupTaintsOn(leftover).length > 0 ? { startupTaints: startupTaintsOn(leftover).map(formatTaint) } : {}),
      annotations: Object.fromEntries(leftover.annotations.map(({ name, value }) => [name, value])),
      ...(removesTolerations ? { tolerations: removableOn(leftover) } : {}),
      keptTolerations: [...(removesTolerations ? [] : removableOn(leftover)), ...stayingOn(leftover)],
      ...stayingReason(leftover),
      result,
      ...(problem === undefined ? {} : { problem }),
    })),
    ...(unusable.length > 0 ? { unusablePolicies: unusable.map(({ name }) => name) } : {}),
    ...(isDefined ? {} : { startupTaintsUnknown: true }),
  };
}

const LEVELS: Readonly<Record<Cleaned['result'], Level>> = { removed: 'ok', failed: 'failed', skipped: 'quiet' };

/** In kubectl's words. */
const SUFFIXES = { none: '', client: ' (dry run)', server: ' (server dry run)' } as const;

function tableOf({ cleaned, ...known }: Cleanup, { removesTolerations, dryRun }: Shown, look: Look): string {
  if (cleaned.length === 0) return `${nothingLeft(known)}\n`;
  const suffix = SUFFIXES[dryRun];
  const rows = cleaned.flatMap(({ leftover, result }) => {
    const title = printable(objectTitle(leftover));
    const rowsOf = (tolerations: readonly Toleration[], cell: TableCell) =>
      tolerations.map((one) => [title, printable(`toleration ${formatToleration(one)}`), cell]);
    const cell: TableCell = { text: `${result}${suffix}`, level: LEVELS[result] };
    return [
      ...startupTaintsOn(leftover).map((taint) => [title, printable(`startup taint ${formatTaint(taint)}`), cell]),
      ...leftover.annotations.map(({ name, value }) => [title, printable(`annotation ${name}: ${value}`), cell]),
      ...rowsOf(removableOn(leftover), removesTolerations ? cell : 'kept'),
      ...rowsOf(stayingOn(leftover), 'kept'),
    ];
  });
  const problems = cleaned.flatMap(({ leftover, problem }) =>
    problem === undefined ? [] : [`${printable(objectTitle(leftover))}: ${printable(problem)}\n`],
  );
  const removed = cleaned.filter(({ result }) => result === 'removed');
  const kept = removesTolerations ? 0 : removed.flatMap(({ leftover }) => removableOn(leftover)).length;
  const reasons = removed.flatMap(({ leftover }) => {
    const { keptBecause } = stayingReason(leftover);
    return keptBecause === undefined ? [] : [`${printable(objectTitle(leftover))}: ${printable(keptBecause)}\n`];
  });
  return [
    columns([['OBJECT', 'WHAT', 'RESULT'], ...rows], look),
    ...(problems.length > 0 ? ['\n', ...problems] : []),
    ...(reasons.length > 0 ? [`\n${STAYING_ADVICE}\n`, ...reasons] : []),
    ...(kept > 0 ? [`\n${keptAdvice(kept, dryRun)}\n`] : []),
  ].join('');
}

function nothingLeft({ unusable, isDefined }: Omit<Cleanup, 'cleaned'>): string {
  const noAnnotations = 'no annotations of taintkeeper are left on nodes and DaemonSets';
  if (!isDefined) return `${noAnnotations}; startup taints are unknown`;
  return unusable.length === 0
    ? 'nothing of taintkeeper is left on nodes and DaemonSets'
    : `${noAnnotations}, and no startup taints of the other policies`;
}

function stayingReason(leftover: Leftover): { keptBecause?: string } {
  return leftover.resource === 'daemonsets' && leftover.staying ? { keptBecause: leftover.staying.because } : {};
}

const STAYING_ADVICE =
  'These DaemonSets keep added tolerations also with --tolerations, because their sources may have them by now. If a source does not have the toleration, remove it with kubectl edit:';

/** Only the annotation records which tolerations taintkeeper added. */
function keptAdvice(kept: number, dryRun: Shown['dryRun']): string {
  const what = `${count(kept, 'toleration')} that taintkeeper added`;
  return dryRun === 'none'
    ? `Kept ${what}, and removed the annotation that records them. To remove the tolerations, edit the DaemonSets.`
    : `Without --tolerations, cleanup keeps ${what}, and removes the annotation that records them. With --tolerations, it removes both, and the DaemonSets replace their pods.`;
}
