import { oncePer } from '../../collections/once-per.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import { type Need, needsOf, type RequiredToleration } from './needed-tolerations.ts';

/** A toleration that a policy requires. */
export interface DeclaredToleration extends RequiredToleration {
  readonly policy: CompiledTolerationPolicy;
  readonly field: string;
}

/** The tolerations that some policies require: all of them, and those that no other one covers. */
export interface DeclaredTolerations {
  readonly declared: readonly DeclaredToleration[];
  readonly needs: readonly Need<DeclaredToleration>[];
}

/** The most cached sets of policies. The DaemonSets of a cluster need few different sets, and one set may need megabytes. */
const MAX_SETS = 16;

/** The cached tolerations, by the names of the policies that select a DaemonSet. */
const latestTolerations = oncePer((_: readonly CompiledTolerationPolicy[]) => new Map<string, DeclaredTolerations>());

/** The tolerations that the selected policies require. Cached, because computing them takes longer than the rest of the decision. */
export function declaredTolerations(
  policies: readonly CompiledTolerationPolicy[],
  isSelected: (policy: CompiledTolerationPolicy) => boolean,
): DeclaredTolerations {
  const selected = policies.filter(isSelected);
  const names = selected.map(({ name }) => name).join();
  const latest = latestTolerations(policies);
  const known = latest.get(names);
  if (known) return known;
  const declared = selected.flatMap(declaredBy);
  const tolerations = { declared, needs: needsOf(declared) };
  if (latest.size === MAX_SETS) latest.clear();
  latest.set(names, tolerations);
  return tolerations;
}

const declaredBy = oncePer((policy: CompiledTolerationPolicy): DeclaredToleration[] =>
  policy.tolerations.map(({ value, field }) => ({ policy, field, toleration: value, rank: policy.rank })),
);
