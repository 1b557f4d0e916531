import type { Records } from '../../../src/admission/admit.ts';
import type { AdmissionRequest } from '../../../src/admission/review.ts';
import type { RecordedTaint } from '../../../src/judge/node-record.ts';
import { recordedTaints, recordListing } from '../judge/established.ts';

/**
 * Generated nodes carry in annotations of the tests what their records say: so a request brings along the record of its node. Neither the
 * engine nor a condition reads them.
 */
const RECORDED_ANNOTATION = 'example.com/recorded';
const RECORDED_REMOVALS_ANNOTATION = 'example.com/recorded-removals';

/** What the record of a node lists, such as `a=b:NoSchedule, c:NoExecute`. */
export interface RecordState {
  /** What the node is to carry. */
  readonly recorded?: string | undefined;
  /** What was removed with permission. */
  readonly recordedRemovals?: string | undefined;
}

export function recordAnnotations({ recorded, recordedRemovals }: RecordState): Readonly<Record<string, string>> {
  return {
    ...(recorded === undefined ? {} : { [RECORDED_ANNOTATION]: recorded }),
    ...(recordedRemovals === undefined ? {} : { [RECORDED_REMOVALS_ANNOTATION]: recordedRemovals }),
  };
}

/** Records as of the moment of a request. */
export function recordsAt({ oldObject }: Pick<AdmissionRequest, 'oldObject'>): Records {
  const { annotations } = metadataOf(oldObject);
  return recordsOf(oldObject, [
    ...recordedTaints(annotations?.[RECORDED_ANNOTATION]),
    ...recordedTaints(annotations?.[RECORDED_REMOVALS_ANNOTATION], { removedAt: 0 }),
  ]);
}

/** Records of which that of the node lists these taints. */
export function recordsOf(node: unknown, taints: readonly RecordedTaint[]): Records {
  const record = { ...recordListing(undefined), uid: metadataOf(node).uid ?? '', taints };
  return { recordOf: () => record, now: () => 0 };
}

interface Metadata {
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function metadataOf(object: unknown): Metadata {
  return ((object ?? { metadata: {} }) as { readonly metadata: Metadata }).metadata;
}
