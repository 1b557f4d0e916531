import { own, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration, type Toleration } from '../kubernetes/toleration.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { ALLOW_REMOVAL_ANNOTATION } from './allow-removal.ts';
import { type DaemonSetView, type DesiredDaemonSet, IGNORE_ANNOTATION, judgeDaemonSet } from './daemon-set.ts';
import type { Decision, Violation } from './decision.ts';

/** On a DaemonSet: the tolerations that were appended to it while it ran, `key=value:Effect, …`. */
export const ADDED_ANNOTATION = 'taintkeeper.dev/tolerations-added';

/** On a DaemonSet: which installation {@link ADDED_ANNOTATION} is of, by the uid of its service account. */
export const ADDED_BY_ANNOTATION = 'taintkeeper.dev/tolerations-added-by';

/** What taintkeeper writes on DaemonSets. */
const WRITTEN_ANNOTATIONS = [ADDED_ANNOTATION, ADDED_BY_ANNOTATION] as const;
/** What taintkeeper reads on DaemonSets. */
export const READ_ANNOTATIONS = [IGNORE_ANNOTATION, ...WRITTEN_ANNOTATIONS] as const;

/**
 * Judges a DaemonSet that runs by the policies with `existing: Patch`: as if it were created now, as it is. Of one that opts out
 * or is on its way out there is nothing to say.
 */
export function judgeRunningDaemonSet(daemonSet: DaemonSetView, policies: PolicySet): Decision<DesiredDaemonSet> {
  const tolerationPolicies = policies.tolerationPolicies.filter(({ patchesExisting }) => patchesExisting);
  return judgeDaemonSet({ phase: 'mutate', daemonSet }, { ...policies, tolerationPolicies });
}

/** What {@link ADDED_ANNOTATION} lists, as violations name it; nothing where it is absent. */
export function addedTolerations(annotations: StringMap): string[] {
  const texts = (own(annotations, ADDED_ANNOTATION) ?? '').split(',').map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/**
 * What this installation answers for: of a record that another one has left it does not know who took out what is gone. A record
 * without a name counts, and so does every record where `installation` is not known.
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
  const here = addedHere(annotations, installation);
  const there = new Set(tolerations.map(formatToleration));
  const before = addedTolerations(annotations).filter((text) => here.includes(text) || there.has(text));
  return {
    [ADDED_ANNOTATION]: [...new Set([...before, ...added.map(({ subject }) => subject)])].join(', '),
    ...(installation === undefined ? {} : { [ADDED_BY_ANNOTATION]: installation }),
  };
}

/** What taintkeeper, or whoever releases a taint, writes on Nodes. `taintkeeper cleanup` takes away what is listed here. */
const NODE_ANNOTATIONS = [ALLOW_REMOVAL_ANNOTATION];

/** An annotation that has outlived the installation that it was for. */
export interface LeftAnnotation {
  readonly name: string;
  readonly value: string;
}

/** What is left on a Node, or on a DaemonSet: nothing where both are empty. */
export interface LeftBehind {
  readonly annotations: readonly LeftAnnotation[];
  /** Of the pod template's tolerations, those that were appended while it ran: their places in the list, in its order. */
  readonly tolerations: readonly number[];
}

export function leftOnNode(annotations: StringMap): LeftBehind {
  return { annotations: pick(annotations, NODE_ANNOTATIONS), tolerations: [] };
}

/** What the record says was appended, as far as it is still there. Of several that read alike, the last one was. */
export function leftOnDaemonSet(annotations: StringMap, tolerations: readonly Toleration[]): LeftBehind {
  const texts = tolerations.map(formatToleration);
  const places = [...new Set(addedTolerations(annotations))].map((text) => texts.lastIndexOf(text));
  return {
    annotations: pick(annotations, WRITTEN_ANNOTATIONS),
    tolerations: places.filter((place) => place >= 0).sort((a, b) => a - b),
  };
}

function pick(annotations: StringMap, names: readonly string[]): LeftAnnotation[] {
  return names.flatMap((name) => {
    const value = own(annotations, name);
    return value === undefined ? [] : [{ name, value }];
  });
}
