import type { Static } from 'typebox';
import * as Type from 'typebox';
import { type InstalledDaemonSet, managerOf, type Workload, type WorkloadKind } from '../coverage/workload.ts';
import type { Tolerator, ToleratorKind } from '../judge/request/pod-authorization.ts';
import { own } from '../kubernetes/label-selector.ts';
import type { NodeSelectorRequirement } from '../kubernetes/node-affinity.ts';
import type { Path } from '../policy/problem.ts';
import type { SchedulingView } from '../scheduling/coverage.ts';
import { isPluginDirectory } from '../scheduling/node-critical.ts';
import { tolerationList } from './daemon-set-object.ts';
import { Nullish, reader, StringMapSchema } from './object-schema.ts';

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

/** The fields of a pod's spec that are read here; null counts as absent, as in Go. */
const PodSpecSchema = Type.Object({
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
type PodSpec = Static<typeof PodSpecSchema>;

const MetadataSchema = Type.Object({
  namespace: Nullish(Type.String()),
  name: Nullish(Type.String()),
  generateName: Nullish(Type.String()),
  labels: Nullish(StringMapSchema),
  annotations: Nullish(StringMapSchema),
  ownerReferences: Nullish(
    Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), controller: Nullish(Type.Boolean()) })),
  ),
});
type Metadata = Static<typeof MetadataSchema>;

const TemplateSchema = Type.Object({ template: Type.Object({ spec: PodSpecSchema }) });
const asObject = reader(Type.Object({ metadata: MetadataSchema }));
const asPod = reader(Type.Object({ metadata: MetadataSchema, spec: PodSpecSchema }));
const asWorkload = reader(Type.Object({ metadata: MetadataSchema, spec: TemplateSchema }));
const asCronJob = reader(
  Type.Object({
    metadata: MetadataSchema,
    spec: Type.Object({ jobTemplate: Type.Object({ spec: TemplateSchema }) }),
  }),
);

/** An object with pods, and the spec of each of them. */
interface PodSource {
  readonly metadata: Metadata;
  readonly podSpec: PodSpec;
}

function readPodSource(kind: ToleratorKind, value: unknown, path: Path): PodSource {
  switch (kind) {
    case 'Pod': {
      const { metadata, spec } = asPod(value, path);
      return { metadata, podSpec: spec };
    }
    case 'CronJob': {
      const { metadata, spec } = asCronJob(value, path);
      return { metadata, podSpec: spec.jobTemplate.spec.template.spec };
    }
    default: {
      const { metadata, spec } = asWorkload(value, path);
      return { metadata, podSpec: spec.template.spec };
    }
  }
}

/** The version of each kind that is read. */
export const WORKLOAD_API_VERSIONS: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: 'apps/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  CronJob: 'batch/v1',
};

/** The version of each kind with pods. */
export const TOLERATOR_API_VERSIONS: Readonly<Record<ToleratorKind, string>> = {
  ...WORKLOAD_API_VERSIONS,
  Pod: 'v1',
  Job: 'batch/v1',
};

/**
 * Where the pods of a workload, from parsed JSON, run. `path` is its place in its document, and `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewWorkload(kind: WorkloadKind, value: unknown, path: Path, namespace = 'default'): Workload {
  const source = readPodSource(kind, value, path);
  return {
    ...schedulingOf(source, namespace),
    kind,
    managedBy: managerOf(originOf(source)),
  };
}

/**
 * An installed DaemonSet, from parsed JSON. `path` is its place in its document, and `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewInstalledDaemonSet(value: unknown, path: Path, namespace: string): InstalledDaemonSet {
  const source = readPodSource('DaemonSet', value, path);
  return {
    ...schedulingOf(source, namespace),
    ...originOf(source),
    priorityClass: source.podSpec.priorityClassName ?? '',
    pluginDirectories: writtenDirectories(source.podSpec).filter(isPluginDirectory),
  };
}

/**
 * The fields of a pod, or of the pods of a workload, from parsed JSON, that decide about its authorization. `path` is its place in its document, and
 * `namespace` is used if it names none.
 * @throws MalformedObjectError
 */
export function viewTolerator(kind: ToleratorKind, value: unknown, path: Path, namespace = 'default'): Tolerator {
  const { metadata, podSpec } = readPodSource(kind, value, path);
  return {
    kind,
    name: metadata.name || (metadata.generateName ?? ''),
    pod: {
      namespace: metadata.namespace || namespace,
      serviceAccount: podSpec.serviceAccountName ?? '',
      nodeName: podSpec.nodeName ?? '',
      tolerations: podSpec.tolerations ?? [],
    },
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
  return requirementsOf(asPod(value, path).spec);
}

/**
 * The directories of the node that a pod mounts to write to.
 * @throws MalformedObjectError
 */
export function viewPodWrites(value: unknown, path: Path): readonly string[] {
  return writtenDirectories(asPod(value, path).spec);
}

/**
 * Whether a pod uses devices of Dynamic Resource Allocation.
 * @throws MalformedObjectError
 */
export function hasResourceClaims(value: unknown, path: Path): boolean {
  return (asPod(value, path).spec.resourceClaims ?? []).length > 0;
}

/** Kubelets set it on the mirror of a static pod (k8s.io/api/core/v1, MirrorPodAnnotationKey). */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/**
 * Whether a pod is the mirror of a static pod.
 * @throws MalformedObjectError
 */
export function isMirrorPod(value: unknown, path: Path): boolean {
  return own(asObject(value, path).metadata.annotations ?? {}, MIRROR_ANNOTATION) !== undefined;
}

/**
 * The controller that manages an object of any kind.
 * @throws MalformedObjectError
 */
export function viewController(value: unknown, path: Path): InstalledDaemonSet['controller'] {
  return controllerIn(asObject(value, path).metadata);
}

function schedulingOf({ metadata, podSpec }: PodSource, namespace: string): SchedulingView {
  return {
    namespace: metadata.namespace || namespace,
    name: metadata.name ?? '',
    nodeName: podSpec.nodeName ?? '',
    ...requirementsOf(podSpec),
    hostNetwork: podSpec.hostNetwork ?? false,
  };
}

function requirementsOf({ nodeSelector, affinity, tolerations }: PodSpec) {
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

function writtenDirectories({ volumes, containers, initContainers }: PodSpec): string[] {
  const mounts = [...(containers ?? []), ...(initContainers ?? [])].flatMap(({ volumeMounts }) => volumeMounts ?? []);
  const written = new Set(mounts.filter(({ readOnly }) => !readOnly).map(({ name }) => name));
  return (volumes ?? []).flatMap(({ name, hostPath }) => (written.has(name) && hostPath?.path ? [hostPath.path] : []));
}

/** The fields that show the source of an object. */
function originOf({ metadata }: PodSource): Pick<InstalledDaemonSet, 'labels' | 'annotations' | 'controller'> {
  return {
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    controller: controllerIn(metadata),
  };
}

function controllerIn({ ownerReferences }: Metadata): InstalledDaemonSet['controller'] {
  const owner = ownerReferences?.find(({ controller }) => controller);
  return owner && { kind: owner.kind, name: owner.name };
}
