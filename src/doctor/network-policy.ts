import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';

/** A NetworkPolicy (networking.k8s.io/v1), as far as it says who may connect to a pod. */
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

/** A port of a pod, which a policy may name by its number or its name. */
export interface PodPort {
  readonly number: number;
  readonly name: string | undefined;
}

/**
 * What policies let through to one port of a pod. `limited`: connections from some places only, and the API server's address
 * is not for a policy to know. Policies add up: what one of them allows is allowed.
 */
export interface Ingress {
  readonly access: 'open' | 'limited' | 'closed';
  /** The policies that select the pod; none means open. */
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

/** No ports at all are every port. */
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
