/** A policy that covers a taint or a toleration, and its field. */
export interface PolicyField {
  readonly policy: string;
  readonly mode: string;
  readonly field: string;
}

/** For example `gpu-pool (Restore, spec.taints[0])`. */
export const namedBy = (by: readonly PolicyField[]) =>
  by.map(({ policy, mode, field }) => `${policy} (${mode}, ${field})`).join(', ');
