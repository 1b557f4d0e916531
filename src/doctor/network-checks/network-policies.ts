import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { ingressTo } from '../network-policy.ts';

const AREA = { area: 'network', name: 'NetworkPolicies' } as const;

/** What NetworkPolicies say about the webhook's port. It is told and not judged: whether they matter is the CNI's affair. */
export function checkNetworkPolicies({ networkPolicies, replicas }: Facts): CheckResult {
  if (!networkPolicies.ok) return { ...AREA, state: 'skipped', evidence: networkPolicies.why };
  const [replica] = replicas.filter(({ pod }) => pod !== undefined);
  if (!replica?.pod) return { ...AREA, state: 'skipped', evidence: 'there is no pod that one could select' };
  const port = { number: replica.port, name: 'webhook' };
  const { access, policies } = ingressTo(replica.pod.labels, port, networkPolicies.value);
  const names = policies.join(', ');
  if (policies.length === 0) return { ...AREA, state: 'ok', evidence: 'none selects the pods' };
  switch (access) {
    case 'open':
      return { ...AREA, state: 'ok', evidence: `${names}: everybody may connect to port ${replica.port}` };
    case 'limited':
      return {
        ...AREA,
        state: 'note',
        evidence: `${names}: port ${replica.port} is open for some only; the API server has to be among them`,
      };
    case 'closed':
      return {
        ...AREA,
        state: 'note',
        evidence: `${names}: nobody may connect to port ${replica.port}; it works only as long as the CNI does not enforce that`,
      };
  }
}
