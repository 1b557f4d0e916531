import { own, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { type DaemonSetView, IGNORE_ANNOTATION, MAX_TOLERATIONS } from './daemon-set.ts';
import type { Violation } from './decision.ts';

/** On a DaemonSet: the tolerations that were appended to it while it ran, `key=value:Effect, …`. */
export const ADDED_ANNOTATION = 'taintkeeper.dev/tolerations-added';

/** On a DaemonSet: which installation {@link ADDED_ANNOTATION} is of, by the uid of its service account. */
export const ADDED_BY_ANNOTATION = 'taintkeeper.dev/tolerations-added-by';

/** What taintkeeper writes on DaemonSets. */
export const WRITTEN_ANNOTATIONS = [ADDED_ANNOTATION, ADDED_BY_ANNOTATION] as const;
/** What taintkeeper reads on DaemonSets. */
export const READ_ANNOTATIONS = [IGNORE_ANNOTATION, ...WRITTEN_ANNOTATIONS] as const;

/** Those that a DaemonSet can have, and as many again for each of three installations. Its author can write tens of thousands. */
const MAX_LISTED = 4 * MAX_TOLERATIONS;

/** What {@link ADDED_ANNOTATION} lists, as violations name it; nothing where it is absent. Only its beginning counts. */
export function addedTolerations(annotations: StringMap): string[] {
  const texts = (own(annotations, ADDED_ANNOTATION) ?? '').split(',', MAX_LISTED).map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/**
 * The tolerations that this installation has added. If another installation wrote the list, it is not known which writer removed a listed toleration
 * that the DaemonSet no longer has. A list without a name counts, and so does every list if `installation` is not known.
 */
export function addedHere(annotations: StringMap, installation: string | undefined): string[] {
  const by = own(annotations, ADDED_BY_ANNOTATION);
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
  return {
    [ADDED_ANNOTATION]: [...new Set([...before, ...added.map(({ subject }) => subject)])].join(', '),
    ...(installation === undefined ? {} : { [ADDED_BY_ANNOTATION]: installation }),
  };
}
