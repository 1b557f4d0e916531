import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { causeAmong } from './causes.ts';

const AREA = { area: 'network', name: 'endpoints' } as const;

/** Whether the Service leads to somebody, at the port that they listen on. */
export function checkEndpoints(facts: Facts, earlier: readonly CheckResult[]): CheckResult {
  const { slices, replicas, pods, site, service } = facts;
  if (!slices.ok) return { ...AREA, state: 'skipped', evidence: slices.why };
  const cause = causeAmong(earlier);
  if (cause !== undefined) return { ...AREA, state: 'skipped', evidence: cause };
  if (service.ok && service.value?.spec?.type === 'ExternalName') {
    return { ...AREA, state: 'ok', evidence: 'none: the Service is a name for somewhere else' };
  }
  const name = `${site.namespace}/${site.service}`;
  const listed = replicas.filter(({ endpoint }) => endpoint !== undefined);
  const ready = listed.filter(({ endpoint }) => endpoint?.isReady);
  if (ready.length === 0) {
    if (pods.ok && pods.value.length > 0 && !pods.value.some(({ isReady }) => isReady)) {
      return { ...AREA, state: 'skipped', evidence: 'none, because no pod is ready: see replicas' };
    }
    const there = pods.ok ? `; ${pods.value.filter(({ isReady }) => isReady).length} of its pods are ready` : '';
    return {
      ...AREA,
      state: 'trouble',
      evidence: `Service ${name} has no endpoint that is ready${there}`,
      remedy: `kubectl get endpointslices --namespace ${site.namespace} --selector kubernetes.io/service-name=${site.service} --output yaml: if the pods are ready and not in there, the controller manager does not do its work, or the slices are somebody else's`,
    };
  }
  const astray = ready.find(({ pod, endpoint }) => {
    const ports = [...(pod?.ports.values() ?? [])];
    return ports.length > 0 && endpoint !== undefined && !ports.includes(endpoint.port);
  });
  if (astray) {
    const ports = [...(astray.pod?.ports ?? [])].map(([port, number]) => `${number} (${port || 'unnamed'})`);
    return {
      ...AREA,
      state: 'trouble',
      evidence: `Service ${name} leads to port ${astray.endpoint?.port} of ${astray.name}, which listens on ${ports.join(' and ')}`,
      remedy: `kubectl patch service --namespace ${site.namespace} ${site.service} --type json --patch '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"webhook"}]'`,
    };
  }
  const addresses = ready.map(({ name: replica, address, endpoint }) => `${replica} (${address}:${endpoint?.port})`);
  return { ...AREA, state: 'ok', evidence: `${ready.length} ready: ${addresses.join(', ')}` };
}
