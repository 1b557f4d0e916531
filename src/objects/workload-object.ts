import type { Static } from 'typebox';
import * as Type from 'typebox';
import { type InstalledDaemonSet, managerOf, type Workload, type WorkloadKind } from '../coverage/workload.ts';
import type { Tolerator, ToleratorKind } from '../judge/request/pod-authorization.ts';
import { own } from '../kubernetes/label-selector.ts';
import type { NodeSelectorRequirement } from '../kubernetes/node-affinity.ts';
import type { Path } from '../policy/problem.ts';
import type { SchedulingView } from '../scheduling/coverage.ts';
import { isPluginDirectory } from '../scheduling/node-critical.ts';
import { asDaemonSet, tolerationList, viewDaemonSet } from './daemon-set-object.ts';
import { Nullish, reader, StringMap } from './object-meta.ts';

const Requirements = Type.Array(
  Type.Object({
    key: Type.String(),
    operator: Type.String(),
    values: Nullish(Type.Array(Type.String())),
  }),
);

/** The fields of a pod's spec that decide where it runs; null counts as absent, as in Go. */
const PodSpecSchema = Type.Object({
  serviceAccountName: Nullish(Type.String()),
  nodeName: Nullish(Type.String()),
  nodeSelector: Nullish(StringMap),
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
});

/** The fields of a DaemonSet that decide where its pods run. */
const SchedulingSchema = Type.Object({
  metadata: Type.Object({ namespace: Nullish(Type.String()), name: Nullish(Type.String()) }),
  spec: Type.Object({ template: Type.Object({ spec: PodSpecSchema }) }),
});
const asScheduled = reader(SchedulingSchema);
const asTemplate = reader(Type.Object({ spec: Type.Object({ template: Type.Object({ spec: PodSpecSchema }) }) }));
const asPod = reader(Type.Object({ spec: PodSpecSchema }));

/**
 * Where the pods of a DaemonSet, from parsed JSON, run. `path` is its place in its document, and `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewScheduling(value: unknown, path: Path, namespace = 'default'): SchedulingView {
  const { metadata, spec } = asScheduled(value, path);
  const { nodeName, hostNetwork } = spec.template.spec;
  return {
    namespace: metadata.namespace || namespace,
    name: metadata.name ?? '',
    nodeName: nodeName ?? '',
    ...viewRequirementsOf(spec.template.spec),
    hostNetwork: hostNetwork ?? false,
  };
}

/**
 * Where a single pod may run.
 * @throws MalformedObjectError
 */
export function viewPodScheduling(
  value: unknown,
  path: Path,
): Pick<SchedulingView, 'nodeSelector' | 'nodeAffinity' | 'tolerations'> {
  return viewRequirementsOf(asPod(value, path).spec);
}

const Containers = Nullish(
  Type.Array(
    Type.Object({
      volumeMounts: Nullish(Type.Array(Type.Object({ name: Type.String(), readOnly: Nullish(Type.Boolean()) }))),
    }),
  ),
);
const MountingSchema = Type.Object({
  priorityClassName: Nullish(Type.String()),
  volumes: Nullish(
    Type.Array(Type.Object({ name: Type.String(), hostPath: Nullish(Type.Object({ path: Nullish(Type.String()) })) })),
  ),
  containers: Containers,
  initContainers: Containers,
});
const asPrioritized = reader(Type.Object({ spec: Type.Object({ template: Type.Object({ spec: MountingSchema }) }) }));
const asMounting = reader(Type.Object({ spec: MountingSchema }));

/**
 * The priority class of a DaemonSet's pods, and the directories of the node that they mount to write to.
 * @throws MalformedObjectError
 */
export function viewPriority(value: unknown, path: Path): { priorityClass: string; writes: readonly string[] } {
  const { spec } = asPrioritized(value, path).spec.template;
  return { priorityClass: spec.priorityClassName ?? '', writes: writtenDirectories(spec) };
}

/**
 * The directories of the node that a pod mounts to write to.
 * @throws MalformedObjectError
 */
export function viewPodWrites(value: unknown, path: Path): readonly string[] {
  return writtenDirectories(asMounting(value, path).spec);
}

function writtenDirectories({ volumes, containers, initContainers }: Static<typeof MountingSchema>): string[] {
  const mounts = [...(containers ?? []), ...(initContainers ?? [])].flatMap(({ volumeMounts }) => volumeMounts ?? []);
  const written = new Set(mounts.filter(({ readOnly }) => !readOnly).map(({ name }) => name));
  return (volumes ?? []).flatMap(({ name, hostPath }) => (written.has(name) && hostPath?.path ? [hostPath.path] : []));
}

function viewRequirementsOf({ nodeSelector, affinity, tolerations }: Static<typeof PodSpecSchema>) {
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

const asClaiming = reader(
  Type.Object({ spec: Type.Object({ resourceClaims: Nullish(Type.Array(Type.Object({ name: Type.String() }))) }) }),
);

/**
 * Whether a pod uses devices of Dynamic Resource Allocation.
 * @throws MalformedObjectError
 */
export function hasResourceClaims(value: unknown, path: Path): boolean {
  return (asClaiming(value, path).spec.resourceClaims ?? []).length > 0;
}

function viewRequirements(requirements: Static<typeof Requirements>): NodeSelectorRequirement[] {
  return requirements.map(({ key, operator, values }) => ({ key, operator, values: values ?? [] }));
}

const OwnedSchema = Type.Object({
  metadata: Type.Object({
    namespace: Nullish(Type.String()),
    name: Nullish(Type.String()),
    generateName: Nullish(Type.String()),
    labels: Nullish(StringMap),
    annotations: Nullish(StringMap),
    ownerReferences: Nullish(
      Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), controller: Nullish(Type.Boolean()) })),
    ),
  }),
});
const asOwned = reader(OwnedSchema);

const CronJobSchema = Type.Object({
  metadata: Type.Unknown(),
  spec: Type.Object({ jobTemplate: Type.Object({ spec: Type.Unknown() }) }),
});
const asCronJob = reader(CronJobSchema);

/**
 * The object that owns an object, and whose controller manages it.
 * @throws MalformedObjectError
 */
export function controllerOf(value: unknown, path: Path): { kind: string; name: string } | undefined {
  const owner = asOwned(value, path).metadata.ownerReferences?.find(({ controller }) => controller);
  return owner && { kind: owner.kind, name: owner.name };
}

/** The version of each kind that is read. */
export const WORKLOAD_API_VERSIONS: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: 'apps/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  CronJob: 'batch/v1',
};

/**
 * Where the pods of a workload, from parsed JSON, run. `path` is its place in its document, and `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewWorkload(kind: WorkloadKind, value: unknown, path: Path, namespace = 'default'): Workload {
  const { labels, annotations } = asOwned(value, path).metadata;
  return {
    ...viewScheduling(kind === 'CronJob' ? withoutJob(value, path) : value, path, namespace),
    kind,
    managedBy: managerOf({
      labels: labels ?? {},
      annotations: annotations ?? {},
      controller: controllerOf(value, path),
    }),
  };
}

/**
 * An installed DaemonSet, from parsed JSON. `path` is its place in its document, and `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewInstalledDaemonSet(value: unknown, path: Path, namespace: string): InstalledDaemonSet {
  const { annotations, labels } = viewDaemonSet(asDaemonSet(value, path), namespace, '');
  const { priorityClass, writes } = viewPriority(value, path);
  return {
    ...viewScheduling(value, path, namespace),
    annotations,
    labels,
    controller: controllerOf(value, path),
    priorityClass,
    pluginDirectories: writes.filter(isPluginDirectory),
  };
}

/** The version of each kind with pods. */
export const TOLERATOR_API_VERSIONS: Readonly<Record<ToleratorKind, string>> = {
  ...WORKLOAD_API_VERSIONS,
  Pod: 'v1',
  Job: 'batch/v1',
};

/**
 * The fields of a pod, or of the pods of a workload, from parsed JSON, that decide about its authorization. `path` is its place in its document, and
 * `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewTolerator(kind: ToleratorKind, value: unknown, path: Path, namespace = 'default'): Tolerator {
  const { metadata } = asOwned(value, path);
  const template = kind === 'CronJob' ? withoutJob(value, path) : value;
  const { serviceAccountName, nodeName, tolerations } =
    kind === 'Pod' ? asPod(value, path).spec : asTemplate(template, path).spec.template.spec;
  return {
    kind,
    name: metadata.name || (metadata.generateName ?? ''),
    pod: {
      namespace: metadata.namespace || namespace,
      serviceAccount: serviceAccountName ?? '',
      nodeName: nodeName ?? '',
      tolerations: tolerations ?? [],
    },
  };
}

/** Kubelets set it on the mirror of a static pod (k8s.io/api/core/v1, MirrorPodAnnotationKey). */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/**
 * Whether a pod is the mirror of a static pod.
 * @throws MalformedObjectError
 */
export function isMirrorPod(value: unknown, path: Path): boolean {
  return own(asOwned(value, path).metadata.annotations ?? {}, MIRROR_ANNOTATION) !== undefined;
}

/** A CronJob's pod template is two levels further down. */
function withoutJob(value: unknown, path: Path): unknown {
  const { metadata, spec } = asCronJob(value, path);
  return { metadata, spec: spec.jobTemplate.spec };
}
