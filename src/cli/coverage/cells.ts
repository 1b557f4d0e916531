import type { ReportedDaemonSet } from '../../coverage/report.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../output/look.ts';
import { namesIn } from '../output/table.ts';

/** How many nodes are named. */
const NAMES = 4;

/** `NAMESPACE/NAME` */
export function nameCell({ namespace, name }: Pick<ReportedDaemonSet, 'namespace' | 'name'>): string {
  return printable(`${namespace}/${name}`);
}

/** The first names, or all of them: see {@link namesIn}. */
export function namesCell(names: readonly string[], look: Look): string {
  return namesIn(names, NAMES, look) || '-';
}
