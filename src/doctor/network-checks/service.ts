import { CONFIGURATION_NAME } from '../../cluster/webhook-configurations.ts';
import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { calledPort } from '../replicas.ts';

const AREA = { area: 'network', name: 'Service' } as const;

const REINSTALL = 'apply the manifests again: kubectl apply -f manifests/install.yaml, or helm upgrade';

const TAKE_AWAY = `kubectl delete --ignore-not-found clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME}`;

/** Whether the Service is there, has an address, and has the port that the API server calls. */
export function checkService(facts: Facts): CheckResult {
  const { service, webhooks, site } = facts;
  const where = `Service ${site.namespace}/${site.service}`;
  if (!service.ok) return { ...AREA, state: 'skipped', evidence: `${where}: ${service.why}`, essential: true };
  if (service.value === undefined) {
    const left = webhooks.ok && webhooks.value.length > 0;
    return {
      ...AREA,
      state: 'trouble',
      evidence: `${where} does not exist${left ? ', and webhooks that call it are registered' : ''}`,
      remedy: `is it somewhere else (--namespace, --service)? If not, ${left ? `to be rid of what is left: ${TAKE_AWAY}; or ` : ''}${REINSTALL}`,
    };
  }
  const elsewhere = (webhooks.ok ? webhooks.value : []).find(({ clientConfig }) => {
    const called = clientConfig.service;
    return called && (called.name !== site.service || called.namespace !== site.namespace);
  });
  if (elsewhere) {
    const { namespace, name } = elsewhere.clientConfig.service ?? {};
    return {
      ...AREA,
      state: 'trouble',
      evidence: `webhook ${elsewhere.name} calls Service ${namespace}/${name}, not ${where}`,
      remedy: `look there: taintkeeper doctor --namespace ${namespace} --service ${name}`,
    };
  }
  const { type = 'ClusterIP', clusterIP, externalName, ports = [] } = service.value.spec ?? {};
  const port = calledPort(facts);
  if (type === 'ExternalName') {
    return { ...AREA, state: 'ok', evidence: `${where} leads to ${externalName}, port ${port}` };
  }
  if (!clusterIP || clusterIP === 'None') {
    return {
      ...AREA,
      state: 'trouble',
      evidence: `${where} has no cluster IP: the API server cannot call a webhook through it`,
      remedy: `kubectl delete service --namespace ${site.namespace} ${site.service}, and ${REINSTALL}`,
    };
  }
  if (!ports.some((one) => one.port === port)) {
    const there = ports.map((one) => one.port).join(', ') || 'none';
    return {
      ...AREA,
      state: 'trouble',
      evidence: `the webhooks call port ${port} of ${where}, which has ${there}`,
      remedy: `give the Service port ${port} again (${REINSTALL}), or start the replicas with --service-port ${ports[0]?.port ?? 443}`,
    };
  }
  return { ...AREA, state: 'ok', evidence: `${where}, ${clusterIP} port ${port}` };
}
