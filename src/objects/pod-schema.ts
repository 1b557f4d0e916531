import type { Static } from 'typebox';
import * as Type from 'typebox';
import type { NodeSelectorRequirement } from '../kubernetes/node-affinity.ts';
import type { PodScheduling } from '../scheduling/coverage.ts';
import { Nullish, reader, StringMapSchema } from './object-schema.ts';
import { tolerationList } from './toleration-schema.ts';

const Requirements = Type.Array(
  Type.Object({
    key: Type.String(),
    operator: Type.String(),
    values: Nullish(Type.Array(Type.String())),
  }),
);

const Containers = Nullish(
  Type.Array(
    Type.Object({
      volumeMounts: Nullish(Type.Array(Type.Object({ name: Type.String(), readOnly: Nullish(Type.Boolean()) }))),
    }),
  ),
);

/** The fields of a pod's spec that are read; null counts as absent, as in Go. */
export const PodSpecSchema = Type.Object({
  serviceAccountName: Nullish(Type.String()),
  nodeName: Nullish(Type.String()),
  nodeSelector: Nullish(StringMapSchema),
  affinity: Nullish(
    Type.Object({
      nodeAffinity: Nullish(
        Type.Object({
          requiredDuringSchedulingIgnoredDuringExecution: Nullish(
            Type.Object({
              nodeSelectorTerms: Nullish(
                Type.Array(
                  Type.Object({ matchExpressions: Nullish(Requirements), matchFields: Nullish(Requirements) }),
                ),
              ),
            }),
          ),
        }),
      ),
    }),
  ),
  // Up to Kubernetes 1.33, the API server does not check the template of a StatefulSet.
  tolerations: tolerationList(() => Type.String()),
  hostNetwork: Nullish(Type.Boolean()),
  priorityClassName: Nullish(Type.String()),
  volumes: Nullish(
    Type.Array(Type.Object({ name: Type.String(), hostPath: Nullish(Type.Object({ path: Nullish(Type.String()) })) })),
  ),
  containers: Containers,
  initContainers: Containers,
  resourceClaims: Nullish(Type.Array(Type.Object({ name: Type.String() }))),
});
export type PodSpec = Static<typeof PodSpecSchema>;

/**
 * The fields of ObjectMeta (meta/v1) that are read from pods and from objects with pods. No request is read with this schema, so its texts have no
 * limits.
 */
export const WorkloadMetaSchema = Type.Object({
  namespace: Nullish(Type.String()),
  name: Nullish(Type.String()),
  generateName: Nullish(Type.String()),
  labels: Nullish(StringMapSchema),
  annotations: Nullish(StringMapSchema),
  ownerReferences: Nullish(
    Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), controller: Nullish(Type.Boolean()) })),
  ),
});
export type WorkloadMeta = Static<typeof WorkloadMetaSchema>;

/** Reads parsed JSON as an object of any kind: see {@link reader}. */
export const asObject = reader(Type.Object({ metadata: WorkloadMetaSchema }));
/** Reads parsed JSON as a Pod: see {@link reader}. */
export const asPod = reader(Type.Object({ metadata: WorkloadMetaSchema, spec: PodSpecSchema }));

/** Where a pod with this spec may run. */
export function podSchedulingOf({ nodeSelector, affinity, tolerations }: PodSpec): PodScheduling {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return {
    nodeSelector: nodeSelector ?? {},
    nodeAffinity: required
      ? (required.nodeSelectorTerms ?? []).map(({ matchExpressions, matchFields }) => ({
          matchExpressions: viewRequirements(matchExpressions ?? []),
          matchFields: viewRequirements(matchFields ?? []),
        }))
      : undefined,
    tolerations: tolerations ?? [],
  };
}

function viewRequirements(requirements: Static<typeof Requirements>): NodeSelectorRequirement[] {
  return requirements.map(({ key, operator, values }) => ({ key, operator, values: values ?? [] }));
}

/** The directories of the node that a pod mounts to write to. */
export function writtenDirectories({ volumes, containers, initContainers }: PodSpec): string[] {
  const mounts = [...(containers ?? []), ...(initContainers ?? [])].flatMap(({ volumeMounts }) => volumeMounts ?? []);
  const written = new Set(mounts.filter(({ readOnly }) => !readOnly).map(({ name }) => name));
  return (volumes ?? []).flatMap(({ name, hostPath }) => (written.has(name) && hostPath?.path ? [hostPath.path] : []));
}
