import { type LabelSelector, type StringMap, selects } from '../../kubernetes/label-selector.ts';

/** The fields of a NetworkPolicy (networking.k8s.io/v1) that restrict connections to pods. */
export interface NetworkPolicyObject {
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly podSelector?: LabelSelector;
    readonly policyTypes?: readonly string[];
    readonly ingress?:
      | readonly {
          readonly ports?: readonly {
            readonly protocol?: string;
            readonly port?: number | string;
            readonly endPort?: number;
          }[];
          readonly from?: readonly unknown[];
        }[]
      | null;
  };
}

/** A port of a pod. A policy names it by number or by name. */
export interface PodPort {
  readonly number: number;
  readonly name: string | undefined;
}

/**
 * Which connections policies allow to one port of a pod. A connection is allowed if one policy allows it. `limited`: from some sources
 * only; whether the API server is among them cannot be known here.
 */
export interface Ingress {
  readonly access: 'open' | 'limited' | 'closed';
  /** The policies that select the pod. Without one, all connections are allowed. */
  readonly policies: readonly string[];
}

export function ingressTo(labels: StringMap, port: PodPort, policies: readonly NetworkPolicyObject[]): Ingress {
  const selecting = policies.filter(
    ({ spec }) => selects(spec?.podSelector ?? {}, labels) && (spec?.policyTypes ?? ['Ingress']).includes('Ingress'),
  );
  const rules = selecting.flatMap(({ spec }) => spec?.ingress ?? []).filter((rule) => isFor(rule.ports, port));
  const isOpen = selecting.length === 0 || rules.some(({ from = [] }) => from.length === 0);
  return {
    access: isOpen ? 'open' : rules.length > 0 ? 'limited' : 'closed',
    policies: selecting.map(({ metadata }) => metadata.name),
  };
}

type Rule = NonNullable<NonNullable<NetworkPolicyObject['spec']>['ingress']>[number];

/** A rule without ports is for all ports. */
function isFor(ports: Rule['ports'] = [], { number, name }: PodPort): boolean {
  return (
    ports.length === 0 ||
    ports.some(({ protocol = 'TCP', port, endPort }) => {
      if (protocol !== 'TCP') return false;
      if (typeof port === 'number') return number >= port && number <= (endPort ?? port);
      return port === undefined || port === name;
    })
  );
}
