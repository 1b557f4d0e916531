import type { Records } from '../../../src/admission/admit.ts';
import type { AdmissionRequest } from '../../../src/admission/review.ts';
import { REMEMBERED_ANNOTATION } from '../../../src/judge/memory.ts';
import type { NodeRecord } from '../../../src/judge/node-return.ts';
import type { EstablishedView, NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint, parseTaint, type Taint } from '../../../src/kubernetes/taint.ts';

/** The taints that an annotation lists, of one that is there with two values both. */
function taintsIn(annotation = ''): Taint[] {
  return annotation.split(',').flatMap((text) => parseTaint(text.trim()) ?? []);
}

/** Whether a record lists the taint that lists what the annotation does. */
export function listedBy(annotation: string | undefined): (taint: Taint) => boolean {
  const listed = new Set(taintsIn(annotation).map(formatTaint));
  return (taint) => listed.has(formatTaint(taint));
}

/** The node, with a record that lists what its annotation does. */
export function withEstablished<Node extends Pick<NodeView, 'remembered'>>(
  node: Node,
): Node & Pick<EstablishedView, 'established'> {
  return { ...node, established: listedBy(node.remembered) };
}

/** A record of the Node with the uid `u1` that lists what the annotation does. */
export function recordListing(annotation: string | undefined): NodeRecord {
  const taints = taintsIn(annotation).map((taint) => ({ ...taint, value: taint.value ?? '', policies: [] }));
  return { uid: 'u1', machine: { systemUUID: '', providerID: '' }, taints };
}

/** Records as of the moment of a request: that of the node lists what its annotation listed before the request. */
export function recordsAt({ oldObject }: Pick<AdmissionRequest, 'oldObject'>): Records {
  const { metadata } = (oldObject ?? { metadata: {} }) as Pick<NodeObject, 'metadata'>;
  const record = { ...recordListing(metadata.annotations?.[REMEMBERED_ANNOTATION]), uid: metadata.uid ?? '' };
  return { recordOf: () => record, now: () => 0 };
}

interface NodeObject {
  readonly metadata: { readonly uid?: string; readonly annotations?: Readonly<Record<string, string>> };
}

/** The records of these nodes, each of which lists what the annotation of its node does. */
export function recordIn(nodes: readonly NodeView[]): (name: string) => NodeRecord | undefined {
  return (name) => {
    const node = nodes.find((one) => one.name === name);
    return node && recordListing(node.remembered);
  };
}
