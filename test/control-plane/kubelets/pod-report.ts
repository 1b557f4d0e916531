/** The part of a Pod that decides what its kubelet does. */
export interface Pod {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly Container[] };
  readonly status?: { readonly phase?: string };
}

interface Container {
  readonly name: string;
  readonly image?: string;
}

/** What is left to do for a pod on a node of ours. */
export type PodTask =
  | { readonly kind: 'run'; readonly containers: readonly Container[] }
  | { readonly kind: 'remove' }
  | { readonly kind: 'nothing' };

/** A pod runs as soon as it is bound. One that failed stays failed: that is for the DaemonSet controller, and for us. */
export function podTask({ metadata, spec, status }: Pod): PodTask {
  if (metadata.deletionTimestamp !== undefined) return { kind: 'remove' };
  if (status?.phase !== 'Pending') return { kind: 'nothing' };
  return { kind: 'run', containers: spec.containers.map(({ name, image = '' }) => ({ name, image })) };
}

/** What a kubelet reports of a pod that runs, as a strategic merge patch of its status. */
export function runningReport(containers: readonly Container[], now = new Date().toISOString()): object {
  return {
    phase: 'Running',
    startTime: now,
    conditions: ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    })),
    containerStatuses: containers.map(({ name, image }) => ({
      ...{ name, image, imageID: '', ready: true, started: true, restartCount: 0 },
      state: { running: { startedAt: now } },
    })),
  };
}
