import { viewReplica } from '../../cluster/installation/replica-pods.ts';
import type { StringMap } from '../../kubernetes/label-selector.ts';
import { isFinished, isReady, isTerminating, type PodObject, podCondition } from '../../objects/pod-object.ts';
import type { PlacedReplica } from '../../scheduling/replica-spread.ts';

/** A replica's pod. */
export interface PodView extends PlacedReplica {
  readonly labels: StringMap;
  /** Undefined until the pod has an address. */
  readonly ip: string | undefined;
  readonly hostNetwork: boolean;
  readonly isReady: boolean;
  /** Why it is not ready, by its status. '' if the status has no reason. */
  readonly problem: string;
  /** Why it cannot start, if that needs action by the user. */
  readonly cannotStart: StartFailure | undefined;
  /** The ports that it declares, by name. */
  readonly ports: ReadonlyMap<string, number>;
}

/** `crash`: it ends after each start. `configuration`: the pod refers to something missing, such as a ConfigMap. */
export type StartFailure = 'image' | 'crash' | 'configuration' | 'unscheduled';

/** By the kubelet's reasons for a container that waits. */
const START_FAILURES: Readonly<Record<string, StartFailure>> = {
  ErrImagePull: 'image',
  ImagePullBackOff: 'image',
  ErrImageNeverPull: 'image',
  InvalidImageName: 'image',
  CrashLoopBackOff: 'crash',
  CreateContainerConfigError: 'configuration',
  CreateContainerError: 'configuration',
  RunContainerError: 'configuration',
};

export function viewPod(object: PodObject): PodView {
  const { metadata, spec, status } = object;
  const { serves: _serves, ...placed } = viewReplica(object);
  const containers = spec?.containers ?? [];
  return {
    ...placed,
    labels: metadata.labels ?? {},
    ip: status?.podIP,
    hostNetwork: spec?.hostNetwork ?? false,
    isReady: isReady(object),
    problem: problemOf(object),
    cannotStart: startFailureOf(object),
    ports: new Map(
      containers.flatMap(({ ports = [] }) =>
        ports.map(({ name = '', containerPort }) => [name, containerPort] as const),
      ),
    ),
  };
}

/** Whether the pod is a replica, or may become one: it is neither finished nor terminating. */
export function isAlive(pod: PodObject): boolean {
  return !isTerminating(pod) && !isFinished(pod);
}

/** Counts pods that their nodes rejected, by reason. They never ran, and stay until they are deleted. */
export function countRejected(pods: readonly PodObject[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of pods) {
    // A pod that has run has a container status.
    if (status?.phase !== 'Failed' || (status.containerStatuses ?? []).length > 0) continue;
    const reason = status.reason ?? 'no reason given';
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

function startFailureOf(pod: PodObject): StartFailure | undefined {
  const reasons = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.waiting?.reason ?? '');
  const [failure] = reasons.flatMap((reason) => START_FAILURES[reason] ?? []);
  return failure ?? (podCondition(pod, 'PodScheduled', 'False') ? 'unscheduled' : undefined);
}

function problemOf(pod: PodObject): string {
  const states = pod.status?.containerStatuses ?? [];
  const reason = states.map(({ state }) => state?.waiting?.reason ?? state?.terminated?.reason).find(Boolean);
  const unscheduled = podCondition(pod, 'PodScheduled', 'False');
  const restarts = Math.max(0, ...states.map(({ restartCount = 0 }) => restartCount));
  return [reason ?? unscheduled?.message ?? '', restarts > 0 ? `restarted ${restarts} times` : '']
    .filter(Boolean)
    .join(', ');
}
