import { isDeepStrictEqual } from 'node:util';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import type { DaemonSetView, DesiredDaemonSet } from '../judge/daemon-set-view.ts';
import type { Operation } from '../kubernetes/json-patch.ts';
import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import { TOLERATIONS_PATH, TOLERATIONS_POINTER } from '../kubernetes/toleration.ts';
import { tolerationFaults } from '../kubernetes/toleration-faults.ts';
import type { Problem } from '../policy/problem.ts';
import { listPatch } from './list-patch.ts';
import { Bounded, Nullish, RequestMetaSchema, reader } from './object-schema.ts';
import { tolerationList } from './toleration-schema.ts';

/** The part of a DaemonSet that is read here; a null list or map counts as an empty one, as in Go. */
const DaemonSetSchema = Type.Object({
  metadata: RequestMetaSchema,
  spec: Type.Object({
    template: Type.Object({
      spec: Type.Object({ tolerations: tolerationList(Bounded), hostNetwork: Nullish(Type.Boolean()) }),
    }),
  }),
});

export type DaemonSetObject = Static<typeof DaemonSetSchema>;

/** Reads parsed JSON as a DaemonSet: see {@link reader}. */
export const asDaemonSet = reader(DaemonSetSchema);

/** The fields that policies read. `namespace` is that of the request, and `name` is used while the object has none. */
export function viewDaemonSet({ metadata, spec }: DaemonSetObject, namespace: string, name: string): DaemonSetView {
  return {
    namespace,
    // A name that the API server still has to generate is matched by its prefix, which may have a dash after 253 characters.
    name: metadata.name || name || (metadata.generateName ?? '').slice(0, DNS_SUBDOMAIN_LENGTH + 1),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    tolerations: spec.template.spec.tolerations ?? [],
    hostNetwork: spec.template.spec.hostNetwork ?? false,
    deleting: typeof metadata.deletionTimestamp === 'string',
  };
}

/** The tolerations for which the API server refuses the DaemonSet, with their fields. */
export function refusedTolerations({ spec }: DaemonSetObject): Problem[] {
  return (spec.template.spec.tolerations ?? []).flatMap((toleration, index) =>
    tolerationFaults(toleration).map(({ field, message }) => ({
      path: [...TOLERATIONS_PATH, index, ...(toleration[field] == null ? [] : [field])],
      message,
    })),
  );
}

/** True if the pod templates are equal except for their tolerations. */
export function sameTemplate(before: DaemonSetObject, after: DaemonSetObject): boolean {
  return isDeepStrictEqual(withoutTolerations(before), withoutTolerations(after));
}

function withoutTolerations({ spec: { template } }: DaemonSetObject): object {
  const { tolerations: _, ...podSpec } = template.spec;
  return { ...template, spec: podSpec };
}

/** The JSON patch (RFC 6902) that changes the DaemonSet to the desired state. */
export function patchDaemonSet({ spec }: DaemonSetObject, { tolerations }: DesiredDaemonSet): Operation[] {
  return listPatch(TOLERATIONS_POINTER, spec.template.spec.tolerations, tolerations);
}
