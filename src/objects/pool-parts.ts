import type { LabelSelectorRequirement, StringMap } from '../kubernetes/label-selector.ts';

/** The fields of ObjectMeta (meta/v1) that are read from pools. */
export interface PoolMetadata {
  readonly name: string;
  readonly uid?: string;
  readonly namespace?: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: StringMap | null;
  readonly ownerReferences?: readonly { readonly controller?: boolean }[] | null;
}

export function labelRequirement(key: string, value: string): LabelSelectorRequirement {
  return { key, operator: 'In', values: [value] };
}
