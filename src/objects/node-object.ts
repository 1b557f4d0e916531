import type { Static } from 'typebox';
import * as Type from 'typebox';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import {
  formatStartupBoot,
  type NodeBoot,
  parseStartupBoot,
  STARTUP_BOOT_ANNOTATION,
  validBootId,
} from '../judge/node-boot.ts';
import type { DesiredNode, NodeView } from '../judge/node-view.ts';
import { jsonPointer, type Operation } from '../kubernetes/json-patch.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import { LABEL_VALUE_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { listPatch } from './list-patch.ts';
import { lastWriter, managedFieldsOf } from './managed-fields.ts';
import { Bounded, Nullish, RequestMetaSchema, reader } from './object-schema.ts';

/** The part of a Node that is read here; a null list or map counts as an empty one, as in Go. */
const NodeSchema = Type.Object({
  metadata: RequestMetaSchema,
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

/** Reads parsed JSON as a Node: see {@link reader}. */
export const asNode = reader(NodeSchema);

/** The fields that policies read. `name` is used while the object has none of its own. */
export function viewNode({ metadata, spec }: NodeObject, name: string): NodeView {
  return {
    name: metadata.name || name,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    allowRemoval: ownValue(metadata.annotations ?? {}, ALLOW_REMOVAL_ANNOTATION),
  };
}

/** The boot of the node, and that for which its startup taints were set. Neither is there if it is not like a boot ID. */
export function viewNodeBoot(node: NodeObject): Pick<NodeBoot, 'bootId' | 'startupBoot'> {
  const { status } = node as { readonly status?: { readonly nodeInfo?: { readonly bootID?: unknown } | null } | null };
  const bootId = validBootId(status?.nodeInfo?.bootID);
  const startupBoot = parseStartupBoot(ownValue(node.metadata.annotations ?? {}, STARTUP_BOOT_ANNOTATION));
  return { ...(bootId === undefined ? {} : { bootId }), ...(startupBoot === undefined ? {} : { startupBoot }) };
}

/**
 * Since when a Ready node has had its taints, in milliseconds, by the clock of the API server: when it became Ready or when its taints were last
 * written, whichever is later. Undefined for a node without taints, one that is not Ready, and one without these times.
 */
export function taintedSince(node: NodeObject): number | undefined {
  if ((node.spec?.taints ?? []).length === 0) return undefined;
  const { metadata, status } = node as {
    readonly metadata: { readonly creationTimestamp?: string };
    readonly status?: {
      readonly conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[] | null;
    } | null;
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return undefined;
  const written = lastWriter(managedFieldsOf(node), ['spec', 'taints'])?.time ?? metadata.creationTimestamp;
  const since = Math.max(Date.parse(ready.lastTransitionTime ?? ''), Date.parse(written ?? ''));
  return Number.isNaN(since) ? undefined : since;
}

/** The JSON patch (RFC 6902) that changes the Node to the desired state. */
export function patchNode({ metadata, spec }: NodeObject, desired: DesiredNode): Operation[] {
  const annotations = [
    { name: ALLOW_REMOVAL_ANNOTATION, value: desired.allowRemoval },
    ...(desired.startupBoot === undefined
      ? []
      : [
          {
            name: STARTUP_BOOT_ANNOTATION,
            value: desired.startupBoot === null ? undefined : formatStartupBoot(desired.startupBoot),
          },
        ]),
  ];
  return [...patchTaints(spec, desired.taints), ...patchAnnotations(metadata, annotations)];
}

function patchTaints(spec: NodeObject['spec'], taints: readonly Taint[]): Operation[] {
  if (taints.length === 0 && !spec?.taints) return [];
  if (!spec) return [{ op: spec === null ? 'replace' : 'add', path: '/spec', value: { taints } }];
  return listPatch('/spec/taints', spec.taints, taints);
}

interface DesiredAnnotation {
  readonly name: string;
  /** Undefined: it is deleted. */
  readonly value: string | undefined;
}

/** Without a map of annotations, one must be added before anything can be added to it. */
function patchAnnotations({ annotations }: NodeObject['metadata'], desired: readonly DesiredAnnotation[]): Operation[] {
  const changed = desired.filter(({ name, value }) => value !== ownValue(annotations ?? {}, name));
  if (changed.length === 0) return [];
  if (!annotations) {
    const value = Object.fromEntries(changed.map((one) => [one.name, one.value]));
    return [{ op: 'add', path: '/metadata/annotations', value }];
  }
  return changed.map(({ name, value }): Operation => {
    const path = jsonPointer('metadata', 'annotations', name);
    return value === undefined ? { op: 'remove', path } : { op: 'add', path, value };
  });
}
