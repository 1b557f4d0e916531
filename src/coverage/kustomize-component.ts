import { allTolerations, leftToController, type Need, type Remedies } from './remedies.ts';

/** A component of Kustomize (kustomize.config.k8s.io/v1alpha1). */
export interface Component {
  readonly apiVersion: string;
  readonly kind: 'Component';
  readonly patches: readonly { readonly target: object; readonly patch: string }[];
}

/**
 * A component that adds tolerations to the DaemonSets of the including kustomization. Each patch has the whole list, because a manifest may have
 * other tolerations than the DaemonSet, or none.
 * @param write formats a patch
 */
export function kustomizeComponent(needs: readonly Need[], write: (patch: object) => string): Remedies<Component> {
  const own = needs.filter(({ daemonSet }) => daemonSet.controller === undefined);
  const names = Map.groupBy(own, ({ daemonSet }) => daemonSet.name);
  const patches = own.map((need) => {
    const { namespace, name } = need.daemonSet;
    // A manifest need not name its namespace, so the target names one only if needed.
    const inNamespace = (names.get(name)?.length ?? 0) > 1 ? { namespace: asPattern(namespace) } : {};
    const spec = { template: { spec: { tolerations: allTolerations(need) } } };
    return {
      target: { group: 'apps', version: 'v1', kind: 'DaemonSet', name: asPattern(name), ...inNamespace },
      patch: write({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name }, spec }),
    };
  });
  const component = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', patches } as const;
  return {
    remedies: patches.length > 0 ? [component] : [],
    left: needs.flatMap(({ daemonSet }) => leftToController(daemonSet, 'it has no manifest of its own')),
  };
}

/** Kustomize reads names of targets as regular expressions. */
function asPattern(name: string): string {
  return name.replaceAll('.', '\\.');
}
