import jsonPatch, { type Operation } from 'fast-json-patch';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import type { DesiredNode, NodeView } from '../judge/node-view.ts';
import { RESTORED_ANNOTATION } from '../judge/node-view.ts';
import { ALLOW_REMOVAL_ANNOTATION, REMOVED_ANNOTATION } from '../judge/removal.ts';
import { LABEL_VALUE_LENGTH, own, QUALIFIED_NAME_LENGTH } from '../kubernetes/label-selector.ts';
import { MACHINE_ID_LENGTH, type Machine } from '../kubernetes/machine.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { lastWriter, type ManagedFields } from './managed-fields.ts';
import { Bounded, listPatch, Nullish, ObjectMeta, reader } from './object-meta.ts';

/** TotalAnnotationSizeLimitB (k8s.io/apimachinery/pkg/api/validation/objectmeta.go). */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;
/** Both of taintkeeper's lists of taints take less: 64 of the longest taints each. */
const ROOM_NEEDED = 64 * 1024;

/** The part of a Node that is read here; a null list or map counts as an empty one, as in Go. */
const NodeSchema = Type.Object({
  metadata: ObjectMeta,
  spec: Nullish(
    Type.Object({
      taints: Nullish(
        Type.Array(
          Type.Object({
            key: Bounded(QUALIFIED_NAME_LENGTH),
            value: Nullish(Bounded(LABEL_VALUE_LENGTH)),
            effect: Bounded(LABEL_VALUE_LENGTH),
          }),
        ),
      ),
    }),
  ),
});

export type NodeObject = Static<typeof NodeSchema>;

/** Takes parsed JSON for a Node: see {@link reader}. */
export const asNode = reader(NodeSchema);

/** What the policies look at. `name` stands in while the object has none of its own. */
export function viewNode({ metadata, spec }: NodeObject, name: string): NodeView {
  return {
    name: metadata.name || name,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    ...annotationsOf(metadata),
  };
}

/** What tells its machine from others. Anything but a text of a bounded length tells nothing. */
export function machineOf(node: NodeObject): Machine {
  const { spec, status } = node as {
    readonly spec?: { readonly providerID?: unknown } | null;
    readonly status?: { readonly nodeInfo?: { readonly systemUUID?: unknown } | null } | null;
  };
  const text = (value: unknown) => (typeof value === 'string' && value.length <= MACHINE_ID_LENGTH ? value : '');
  return { systemUUID: text(status?.nodeInfo?.systemUUID), providerID: text(spec?.providerID) };
}

/**
 * When the allow-removal annotation was last written, in milliseconds, by the clock of the API server. Undefined without the annotation, and
 * where that is not known. Whoever may write the node can write another time: a later one than now counts for nothing.
 */
export function announcedAt({ metadata }: NodeObject): number | undefined {
  const { annotations, managedFields } = metadata as typeof metadata & { readonly managedFields?: unknown };
  if (own(annotations ?? {}, ALLOW_REMOVAL_ANNOTATION) === undefined || !Array.isArray(managedFields)) return undefined;
  const { time = '' } = lastWriter(managedFields, ['metadata', 'annotations', ALLOW_REMOVAL_ANNOTATION]) ?? {};
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}

/**
 * Since when a Ready node has had its taints: the later of when it became Ready and when its taints were last written, in milliseconds, by the
 * clock of the API server. Undefined for a node without taints, one that is not Ready, and one of which the times are not known.
 */
export function taintedSince(node: NodeObject): number | undefined {
  if ((node.spec?.taints ?? []).length === 0) return undefined;
  const { metadata, status } = node as {
    readonly metadata: { readonly managedFields?: readonly ManagedFields[]; readonly creationTimestamp?: string };
    readonly status?: {
      readonly conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[] | null;
    } | null;
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return undefined;
  const written = lastWriter(metadata.managedFields ?? [], ['spec', 'taints'])?.time ?? metadata.creationTimestamp;
  const since = Math.max(Date.parse(ready.lastTransitionTime ?? ''), Date.parse(written ?? ''));
  return Number.isNaN(since) ? undefined : since;
}

/**
 * {@link NodeView.room}: what other annotations leave, as far as it is needed. Otherwise each annotation that changes its length, as agents
 * write them with every heartbeat, would be a change of the node. The bytes of all names and values count.
 */
export function roomOn({ metadata }: NodeObject): number {
  const used = Object.entries(metadata.annotations ?? {})
    .filter(([name]) => name !== REMEMBERED_ANNOTATION && name !== REMOVED_ANNOTATION)
    .reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value ?? ''), 0);
  const left = ANNOTATIONS_MAX_BYTES - used - REMEMBERED_ANNOTATION.length - REMOVED_ANNOTATION.length;
  return Math.min(left, ROOM_NEEDED);
}

/** The JSON patch (RFC 6902) that makes the Node look as desired. */
export function patchNode({ metadata, spec }: NodeObject, desired: DesiredNode): Operation[] {
  // Only what may change is compared: a Node has 40 KB.
  const before = pickAnnotations(metadata, annotationsOf(metadata));
  return [
    ...patchTaints(spec, desired.taints),
    ...jsonPatch.compare({ metadata: before }, { metadata: pickAnnotations(metadata, desired) }),
  ];
}

function patchTaints(spec: NodeObject['spec'], taints: readonly Taint[]): Operation[] {
  if (taints.length === 0 && !spec?.taints) return [];
  if (!spec) return [{ op: spec === null ? 'replace' : 'add', path: '/spec', value: { taints } }];
  return listPatch('/spec/taints', spec.taints, taints);
}

/** The annotations that are ours. */
type OwnAnnotations = Pick<NodeView, 'allowRemoval' | 'remembered' | 'removed' | 'restored'>;

function annotationsOf({ annotations }: NodeObject['metadata']): OwnAnnotations {
  return {
    allowRemoval: own(annotations ?? {}, ALLOW_REMOVAL_ANNOTATION),
    remembered: own(annotations ?? {}, REMEMBERED_ANNOTATION),
    removed: own(annotations ?? {}, REMOVED_ANNOTATION),
    restored: own(annotations ?? {}, RESTORED_ANNOTATION),
  };
}

/** Where there is no map of annotations yet, one must be added before anything can be put into it. */
function pickAnnotations(
  { annotations }: NodeObject['metadata'],
  { allowRemoval, remembered, removed, restored }: OwnAnnotations,
) {
  const values = {
    ...(allowRemoval === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval }),
    ...(remembered === undefined ? {} : { [REMEMBERED_ANNOTATION]: remembered }),
    ...(removed === undefined ? {} : { [REMOVED_ANNOTATION]: removed }),
    ...(restored === undefined ? {} : { [RESTORED_ANNOTATION]: restored }),
  };
  if (annotations || Object.keys(values).length > 0) return { annotations: values };
  return annotations === undefined ? {} : { annotations };
}
