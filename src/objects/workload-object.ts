import * as Type from 'typebox';
import { type InstalledDaemonSet, managerOf, type Workload, type WorkloadKind } from '../coverage/workload.ts';
import type { Tolerator, ToleratorKind } from '../judge/tolerator.ts';
import type { Path } from '../policy/problem.ts';
import type { SchedulingView } from '../scheduling/coverage.ts';
import { isPluginDirectory } from '../scheduling/node-critical.ts';
import { reader } from './object-schema.ts';
import {
  asObject,
  asPod,
  type PodSpec,
  PodSpecSchema,
  podSchedulingOf,
  type WorkloadMeta,
  WorkloadMetaSchema,
  writtenDirectories,
} from './pod-schema.ts';

const TemplateSchema = Type.Object({ template: Type.Object({ spec: PodSpecSchema }) });
const asWorkload = reader(Type.Object({ metadata: WorkloadMetaSchema, spec: TemplateSchema }));
const asCronJob = reader(
  Type.Object({
    metadata: WorkloadMetaSchema,
    spec: Type.Object({ jobTemplate: Type.Object({ spec: TemplateSchema }) }),
  }),
);

/** An object with pods, and the spec of each of them. */
interface PodSource {
  readonly metadata: WorkloadMeta;
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
    ...podSchedulingOf(podSpec),
    hostNetwork: podSpec.hostNetwork ?? false,
  };
}

/** The fields that show the source of an object. */
function originOf({ metadata }: PodSource): Pick<InstalledDaemonSet, 'labels' | 'annotations' | 'controller'> {
  return {
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    controller: controllerIn(metadata),
  };
}

function controllerIn({ ownerReferences }: WorkloadMeta): InstalledDaemonSet['controller'] {
  const owner = ownerReferences?.find(({ controller }) => controller);
  return owner && { kind: owner.kind, name: owner.name };
}
