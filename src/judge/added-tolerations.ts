import { own, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { type DaemonSetView, IGNORE_ANNOTATION, MAX_TOLERATIONS } from './daemon-set-view.ts';
import type { Violation } from './decision.ts';

/**
 * On a DaemonSet: the tolerations that were appended to it while it ran, and the uid of the service account that did it, which is another one after each
 * installation: `key=value:Effect, …; by UID`.
 */
export const ADDED_ANNOTATION = 'taintkeeper.dev/tolerations-added';

/** What taintkeeper reads on DaemonSets. */
export const READ_ANNOTATIONS = [IGNORE_ANNOTATION, ADDED_ANNOTATION] as const;

const BY = '; by ';

/** Those that a DaemonSet can have, and as many again for each of three installations. Its author can write tens of thousands. */
const MAX_LISTED = 4 * MAX_TOLERATIONS;

/** What {@link ADDED_ANNOTATION} lists, as violations name it; nothing where it is absent. Only its beginning counts. */
export function addedTolerations(annotations: StringMap): string[] {
  const texts = recordIn(annotations)
    .list.split(',', MAX_LISTED)
    .map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/**
 * The tolerations that this installation has added. If another installation wrote the list, it is not known which writer removed a listed toleration
 * that the DaemonSet no longer has. A list without a name counts, and so does every list if `installation` is not known.
 */
export function addedHere(annotations: StringMap, installation: string | undefined): string[] {
  const { by } = recordIn(annotations);
  const isOther = by !== undefined && installation !== undefined && by !== installation;
  return isOther ? [] : addedTolerations(annotations);
}

/** The annotations once these are added, too. What an earlier installation added stays listed as long as it is there. */
export function recordOfAdded(
  { annotations, tolerations }: Pick<DaemonSetView, 'annotations' | 'tolerations'>,
  added: readonly Violation[],
  installation: string | undefined,
): Record<string, string> {
  const counting = new Set([...addedHere(annotations, installation), ...tolerations.map(formatToleration)]);
  const before = addedTolerations(annotations).filter((text) => counting.has(text));
  const list = [...new Set([...before, ...added.map(({ subject }) => subject)])].join(', ');
  return { [ADDED_ANNOTATION]: installation === undefined ? list : `${list}${BY}${installation}` };
}

function recordIn(annotations: StringMap): { readonly list: string; readonly by: string | undefined } {
  const [list = '', by] = (own(annotations, ADDED_ANNOTATION) ?? '').split(BY, 2);
  return { list, by };
}
