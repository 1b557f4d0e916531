import { CONFIGURATION_NAME } from '../../cluster/webhook-configurations.ts';
import { consequence, type Finding, finding } from '../check.ts';
import type { Facts } from '../facts.ts';
import { calledPort } from '../replicas.ts';

const REINSTALL = 'apply the manifests again: kubectl apply -f manifests/install.yaml, or helm upgrade';

const TAKE_AWAY = `kubectl delete --ignore-not-found clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME}`;

/** Whether the Service is there, has an address, and has the port that the API server calls. */
export function checkService(facts: Facts): Finding {
  const { service, webhooks, installation } = facts;
  const where = `Service ${installation.namespace}/${installation.service}`;
  if (!service.ok) return { ...finding('skipped', `${where}: ${service.why}`), essential: true };
  if (service.value === undefined) {
    const left = webhooks.ok && webhooks.value.length > 0;
    return finding(
      'trouble',
      `${where} does not exist${left ? ', and webhooks that call it are registered' : ''}`,
      `is it somewhere else (--namespace, --service)? If not, ${left ? `to be rid of what is left: ${TAKE_AWAY}; or ` : ''}${REINSTALL}`,
    );
  }
  const elsewhere = (webhooks.ok ? webhooks.value : []).find(({ clientConfig }) => {
    const called = clientConfig.service;
    return called && (called.name !== installation.service || called.namespace !== installation.namespace);
  });
  if (elsewhere) {
    const { namespace, name } = elsewhere.clientConfig.service ?? {};
    return finding(
      'trouble',
      `webhook ${elsewhere.name} calls Service ${namespace}/${name}, not ${where}`,
      `look there: taintkeeper doctor --namespace ${namespace} --service ${name}`,
    );
  }
  const { type = 'ClusterIP', clusterIP, externalName, ports = [] } = service.value.spec ?? {};
  const port = calledPort(facts);
  if (type === 'ExternalName') {
    return finding('ok', `${where} leads to ${externalName}, port ${port}`);
  }
  if (!clusterIP || clusterIP === 'None') {
    return finding(
      'trouble',
      `${where} has no cluster IP: the API server cannot call a webhook through it`,
      `kubectl delete service --namespace ${installation.namespace} ${installation.service}, and ${REINSTALL}`,
    );
  }
  if (!ports.some((one) => one.port === port)) {
    const there = ports.map((one) => one.port).join(', ') || 'none';
    return finding(
      'trouble',
      `the webhooks call port ${port} of ${where}, which has ${there}`,
      `give the Service port ${port} again (${REINSTALL}), or start the replicas with --service-port ${ports[0]?.port ?? 443}`,
    );
  }
  return finding('ok', `${where}, ${clusterIP} port ${port}`);
}

/** Whether the Service leads to somebody, at the port that they listen on. */
export function checkEndpoints(facts: Facts): Finding {
  const { slices } = facts;
  if (!slices.ok) return finding('skipped', slices.why);
  return consequence(endpoints(facts), (cause) => `see ${cause}`);
}

function endpoints({ replicas, pods, installation, service }: Facts): Finding {
  if (service.ok && service.value?.spec?.type === 'ExternalName') {
    return finding('ok', 'none: the Service is a name for somewhere else');
  }
  const name = `${installation.namespace}/${installation.service}`;
  const listed = replicas.filter(({ endpoint }) => endpoint !== undefined);
  const ready = listed.filter(({ endpoint }) => endpoint?.isReady);
  if (ready.length === 0) {
    if (pods.ok && pods.value.length > 0 && !pods.value.some(({ isReady }) => isReady)) {
      return finding('skipped', 'none, because no pod is ready: see replicas');
    }
    const there = pods.ok ? `; ${pods.value.filter(({ isReady }) => isReady).length} of its pods are ready` : '';
    return finding(
      'trouble',
      `Service ${name} has no endpoint that is ready${there}`,
      `kubectl get endpointslices --namespace ${installation.namespace} --selector kubernetes.io/service-name=${installation.service} --output yaml: if the pods are ready and not in there, the controller manager does not do its work, or the slices are somebody else's`,
    );
  }
  const astray = ready.find(({ pod, endpoint }) => {
    const ports = [...(pod?.ports.values() ?? [])];
    return ports.length > 0 && endpoint !== undefined && !ports.includes(endpoint.port);
  });
  if (astray) {
    const ports = [...(astray.pod?.ports ?? [])].map(([port, number]) => `${number} (${port || 'unnamed'})`);
    return finding(
      'trouble',
      `Service ${name} leads to port ${astray.endpoint?.port} of ${astray.name}, which listens on ${ports.join(' and ')}`,
      `kubectl patch service --namespace ${installation.namespace} ${installation.service} --type json --patch '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"webhook"}]'`,
    );
  }
  const addresses = ready.map(({ name: replica, address, endpoint }) => `${replica} (${address}:${endpoint?.port})`);
  return finding('ok', `${ready.length} ready: ${addresses.join(', ')}`);
}
