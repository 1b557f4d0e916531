import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts.ts';
import { ingressTo } from '../network-policy.ts';

/** Reports what NetworkPolicies say about the webhook's port. It is never a problem, because not every CNI enforces them. */
export function checkNetworkPolicies({ networkPolicies, replicas }: Facts): Finding {
  if (!networkPolicies.ok) return finding('skipped', networkPolicies.why);
  const [replica] = replicas.filter(({ pod }) => pod !== undefined);
  if (!replica?.pod) return finding('skipped', 'no pod to check');
  const port = { number: replica.port, name: 'webhook' };
  const { access, policies } = ingressTo(replica.pod.labels, port, networkPolicies.value);
  const names = policies.join(', ');
  if (policies.length === 0) return finding('ok', 'none selects the pods');
  switch (access) {
    case 'open':
      return finding('ok', `${names}: all clients may connect to port ${replica.port}`);
    case 'limited':
      return finding('note', `${names}: port ${replica.port} is open for some only; the API server must be among them`);
    case 'closed':
      return finding(
        'note',
        `${names}: no client may connect to port ${replica.port}; it works only as long as the CNI does not enforce that`,
      );
  }
}
