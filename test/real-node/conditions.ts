/** A status of Kubernetes, as far as it has conditions. */
export interface Conditioned {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** Whether its condition `Ready` is True. */
export function isReady(status: Conditioned | undefined): boolean {
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
}
