/** A status of Kubernetes, as far as it has conditions. */
export interface Conditioned {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration?: number;
  }[];
}

/** Whether its condition `Ready` is True; of this generation of the object, if one is given. */
export function isReady(status: Conditioned | undefined, generation?: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && (generation === undefined || ready.observedGeneration === generation);
}
