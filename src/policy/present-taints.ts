import type { StringMap } from './label-selector.ts';
import type { CompiledTaintPolicy, PresentTaint } from './policy-set.ts';
import { identity } from './taint.ts';

/** A Present taint that a policy wants on a node. */
export interface Want extends PresentTaint {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** The Present taints that policies want on a node with these labels, in the order of the policies. */
export function presentTaints(labels: StringMap, policies: readonly CompiledTaintPolicy[]): Want[] {
  return policies
    .filter((policy) => policy.selectsNode(labels))
    .flatMap((policy) => policy.present.map(({ value, field }): Want => ({ ...value, policy, field })));
}

/** Whether one of the taints, given as {@link valuesOf} gives them, is the wanted one. */
export function satisfies(values: ReadonlyMap<string, string>, { taint, anyValue }: PresentTaint): boolean {
  const value = values.get(identity(taint));
  return value !== undefined && (anyValue || value === (taint.value ?? ''));
}
