import { WEBHOOK_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { hostPort } from '../facts/dial.ts';
import type { Facts } from '../facts/facts.ts';
import { isExternal } from '../facts/installation-facts.ts';
import { calledPort } from '../facts/listed-replicas.ts';
import { allRead } from '../facts/reading.ts';
import { patchService } from '../service-patch.ts';

/** Checks that the Service has ready endpoints, at the port on which they listen. */
export function checkEndpoints(facts: Facts): Finding {
  const { slices } = facts;
  if (!slices.ok) return finding('skipped', slices.why);
  return consequence(endpoints(facts), (cause) => `see ${cause}`);
}

function endpoints(facts: Facts): Finding {
  const { replicas, pods, installation, service, webhooks } = facts;
  if (service.ok && isExternal(service.value)) {
    return finding('ok', 'none: the Service is of type ExternalName');
  }
  const name = `${installation.namespace}/${installation.service}`;
  const listed = replicas.filter(({ endpoint }) => endpoint !== undefined);
  const ready = listed.filter(({ endpoint }) => endpoint?.isReady);
  if (ready.length === 0) {
    // Only these tell which port of the slices is called.
    const known = allRead({ service, webhooks });
    if (!known.ok) return finding('skipped', known.why);
    if (pods.ok && pods.value.length > 0 && !pods.value.some(({ isReady }) => isReady)) {
      return finding('skipped', 'none, because no pod is ready: see replicas');
    }
    const there = pods.ok ? `; ${pods.value.filter(({ isReady }) => isReady).length} of its pods are ready` : '';
    return finding(
      'problem',
      `Service ${name} has no ready endpoint${there}`,
      `if the pods are ready and not listed, the controller manager does not work, or another controller writes the slices: kubectl get endpointslices --namespace ${installation.namespace} --selector kubernetes.io/service-name=${installation.service} --output yaml`,
    );
  }
  const astray = ready.find(({ pod, endpoint }) => {
    const ports = [...(pod?.ports.values() ?? [])];
    return ports.length > 0 && endpoint !== undefined && !ports.includes(endpoint.port);
  });
  if (astray) {
    const port = calledPort(facts);
    const servicePorts = (service.ok ? service.value?.spec?.ports : undefined) ?? [];
    const index = Math.max(
      servicePorts.findIndex((one) => one.port === port),
      0,
    );
    const ports = [...(astray.pod?.ports ?? [])].map(([port, number]) => `${number} (${port || 'unnamed'})`);
    return finding(
      'problem',
      `Service ${name} leads to port ${astray.endpoint?.port} of ${astray.name}, which listens on ${ports.join(' and ')}`,
      patchService(installation, [
        { op: 'test', path: `/spec/ports/${index}/port`, value: port },
        { op: 'replace', path: `/spec/ports/${index}/targetPort`, value: WEBHOOK_PORT_NAME },
      ]),
    );
  }
  const addresses = ready.map(({ name: replica, address, port, endpoint }) => {
    const at = hostPort(address, endpoint?.port ?? port);
    return replica === at ? at : `${replica} (${at})`;
  });
  return finding('ok', `${ready.length} ready: ${addresses.join(', ')}`);
}
