import jsonPatch, { type Operation } from 'fast-json-patch';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { own, type StringMap } from '../policy/label-selector.ts';
import { REMEMBERED_ANNOTATION } from '../policy/memory.ts';
import { RESTORED_ANNOTATION } from '../policy/native/restored-annotation.ts';
import type { DesiredNode, NodeView } from '../policy/node.ts';
import type { Path } from '../policy/problem.ts';
import { RELEASE_ANNOTATION } from '../policy/release.ts';
import { malformed } from './malformed-object-error.ts';
import { Nullish, ObjectMeta } from './object-meta.ts';

/** TotalAnnotationSizeLimitB (k8s.io/apimachinery/pkg/api/validation/objectmeta.go). */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

/** The part of a Node that is read here; a null list or map counts as an empty one, as in Go. */
const NodeSchema = Type.Object({
  metadata: ObjectMeta,
  spec: Nullish(
    Type.Object({
      taints: Nullish(
        Type.Array(
          Type.Object({
            key: Type.String(),
            value: Nullish(Type.String()),
            effect: Type.String(),
          }),
        ),
      ),
    }),
  ),
});
const checkNode = Compile(NodeSchema);

export type NodeObject = Static<typeof NodeSchema>;

/**
 * Takes parsed JSON for a Node; `path` is where in the review it stands.
 * @throws MalformedObjectError
 */
export function asNode(value: unknown, path: Path): NodeObject {
  if (!checkNode.Check(value)) throw malformed(NodeSchema, value, path);
  return value;
}

/** What the policies look at. `name` stands in while the object has none of its own. */
export function viewNode({ metadata, spec }: NodeObject, name: string): NodeView {
  return {
    name: metadata.name || name,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    ...annotationsOf(metadata),
    room: roomIn(metadata.annotations ?? {}),
  };
}

/** What is left for the value of our annotation: the bytes of all names and values count. */
function roomIn({ [REMEMBERED_ANNOTATION]: _, ...others }: StringMap): number {
  const used = Object.entries(others).reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);
  return ANNOTATIONS_MAX_BYTES - used - REMEMBERED_ANNOTATION.length;
}

/** The JSON patch (RFC 6902) that makes the Node look as desired. */
export function patchNode({ metadata, spec }: NodeObject, desired: DesiredNode): Operation[] {
  // Only what may change is compared: a Node has 40 KB, and lists are compared by position.
  const before = { metadata: pickAnnotations(metadata, annotationsOf(metadata)), ...pickTaints(spec) };
  const after = {
    metadata: pickAnnotations(metadata, desired),
    ...(desired.taints.length > 0 ? { spec: { taints: desired.taints } } : pickTaints(spec)),
  };
  return jsonPatch.compare(before, after);
}

/** The annotations that are ours. */
type OwnAnnotations = Pick<NodeView, 'release' | 'remembered' | 'restored'>;

function annotationsOf({ annotations }: NodeObject['metadata']): OwnAnnotations {
  return {
    release: own(annotations ?? {}, RELEASE_ANNOTATION),
    remembered: own(annotations ?? {}, REMEMBERED_ANNOTATION),
    restored: own(annotations ?? {}, RESTORED_ANNOTATION),
  };
}

/** Where there is no map of annotations yet, one must be added before anything can be put into it. */
function pickAnnotations({ annotations }: NodeObject['metadata'], { release, remembered, restored }: OwnAnnotations) {
  const values = {
    ...(release === undefined ? {} : { [RELEASE_ANNOTATION]: release }),
    ...(remembered === undefined ? {} : { [REMEMBERED_ANNOTATION]: remembered }),
    ...(restored === undefined ? {} : { [RESTORED_ANNOTATION]: restored }),
  };
  if (annotations || Object.keys(values).length > 0) return { annotations: values };
  return annotations === undefined ? {} : { annotations };
}

function pickTaints(spec: NodeObject['spec']) {
  if (spec === undefined) return {};
  if (spec === null) return { spec };
  return { spec: spec.taints === undefined ? {} : { taints: spec.taints } };
}
