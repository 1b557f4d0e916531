import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { type DaemonSetView, IGNORE_ANNOTATION, MAX_TOLERATIONS } from './daemon-set-view.ts';
import type { Violation } from './violation.ts';

/**
 * The annotation of a DaemonSet that lists the tolerations that the leader appended while it ran, and the uid of the leader's service account, which
 * differs after each installation: `key=value:Effect, …; by UID`.
 */
export const ADDED_ANNOTATION = 'taintkeeper.dev/tolerations-added';

/** The annotations of DaemonSets that taintkeeper reads. */
export const READ_ANNOTATIONS = [IGNORE_ANNOTATION, ADDED_ANNOTATION] as const;

const BY = '; by ';

/** The most entries that are read: enough for this installation and three earlier ones. The author of a DaemonSet can write tens of thousands. */
const MAX_LISTED = 4 * MAX_TOLERATIONS;

/** The tolerations that {@link ADDED_ANNOTATION} lists, in the form of violations. Entries after the first {@link MAX_LISTED} do not count. */
export function addedTolerations(annotations: StringMap): string[] {
  const texts = recordIn(annotations)
    .list.split(',', MAX_LISTED)
    .map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/**
 * The tolerations that this installation has added. If another installation wrote the list, it is not known which writer removed a listed toleration
 * that the DaemonSet no longer has. A list without a uid counts, and so does every list if `installationUid` is not known.
 */
export function addedHere(annotations: StringMap, installationUid: string | undefined): string[] {
  const { by } = recordIn(annotations);
  const isOther = by !== undefined && installationUid !== undefined && by !== installationUid;
  return isOther ? [] : addedTolerations(annotations);
}

/** The annotation that also lists the added tolerations. Those of an earlier installation stay listed while the DaemonSet has them. */
export function recordOfAdded(
  { annotations, tolerations }: Pick<DaemonSetView, 'annotations' | 'tolerations'>,
  added: readonly Violation[],
  installationUid: string | undefined,
): Record<string, string> {
  const counting = new Set([...addedHere(annotations, installationUid), ...tolerations.map(formatToleration)]);
  const before = addedTolerations(annotations).filter((text) => counting.has(text));
  const list = [...new Set([...before, ...added.map(({ subject }) => subject)])].join(', ');
  return { [ADDED_ANNOTATION]: installationUid === undefined ? list : `${list}${BY}${installationUid}` };
}

function recordIn(annotations: StringMap): { readonly list: string; readonly by: string | undefined } {
  const [list = '', by] = (ownValue(annotations, ADDED_ANNOTATION) ?? '').split(BY, 2);
  return { list, by };
}
