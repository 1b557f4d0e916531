import { groupsBy } from '../collections/groups-by.ts';
import { nameHash } from '../kubernetes/name-hash.ts';
import { MAX_NAME_PATTERNS } from '../policy/field-schemas.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import {
  MAX_POLICY_TOLERATIONS,
  type PolicyToleration,
  type TolerationPolicySpec,
} from '../policy/toleration-policy.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import type { Gap } from './gaps.ts';
import { missingTolerationsOf } from './missing-tolerations.ts';

/** A TolerationPolicy as written to a file. */
export interface TolerationPolicyManifest {
  readonly apiVersion: string;
  readonly kind: 'TolerationPolicy';
  readonly metadata: { readonly name: string };
  readonly spec: TolerationPolicySpec;
}

/**
 * The policies that close the gaps. DaemonSets of one namespace with the same needs share a policy. With several namespaces, it would select every
 * combination of namespace and name.
 */
export function closingPolicies(
  gaps: readonly Pick<Gap<SchedulingView, SchedulingNode>, 'daemonSet' | 'taints'>[],
): TolerationPolicyManifest[] {
  return [...Map.groupBy(missingTolerationsOf(gaps), ({ daemonSet }) => daemonSet.namespace)].flatMap(
    ([namespace, inNamespace]) =>
      groupsBy(inNamespace, ({ tolerations }) => JSON.stringify(tolerations)).flatMap((alike) => {
        const names = alike.map(({ daemonSet }) => daemonSet.name);
        return tolerationPolicies(namespace, names, alike[0].tolerations);
      }),
  );
}

/** The policies that add the tolerations to DaemonSets of one namespace: several if a policy cannot hold all names or tolerations. */
export function tolerationPolicies(
  namespace: string,
  names: readonly string[],
  tolerations: readonly PolicyToleration[],
): TolerationPolicyManifest[] {
  const parts = chunks(names, MAX_NAME_PATTERNS).flatMap((names) =>
    chunks(tolerations, MAX_POLICY_TOLERATIONS).map((tolerations) => ({ names, tolerations })),
  );
  return parts.map(({ names, tolerations }) => ({
    apiVersion: POLICY_API_VERSION,
    kind: 'TolerationPolicy',
    metadata: { name: policyName(namespace, names, tolerations) },
    spec: { mode: 'Mutate', daemonSets: { namespaces: [namespace], names }, tolerations, existing: 'Patch' },
  }));
}

/**
 * The same name for the same gaps, and another one for other gaps, so that a later policy does not replace an earlier one. A namespace has no dot, so
 * policies for different namespaces never have the same name.
 */
function policyName(namespace: string, names: readonly string[], tolerations: readonly PolicyToleration[]): string {
  return `coverage-${namespace}.${nameHash([names, tolerations])}`;
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
