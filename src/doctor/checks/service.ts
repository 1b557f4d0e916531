import { CONFIGURATION_NAME } from '../../cluster/admission-registration/webhook-configurations.ts';
import { WEBHOOK_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { formatLabels, selects } from '../../kubernetes/label-selector.ts';
import { shellWord } from '../../text/printable.ts';
import { essentialSkip, type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import { isExternal, type ServicePort } from '../facts/installation-facts.ts';
import { calledPort } from '../facts/listed-replicas.ts';
import { reinstall } from '../reinstall.ts';
import { patchService } from '../service-patch.ts';

const REMOVE = `kubectl delete --ignore-not-found clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME}`;

/** Checks that the Service exists, and has an address and the port that the API server calls. */
export function checkService(facts: Pick<Facts, 'service' | 'webhooks' | 'installation'>): Finding {
  const { service, webhooks, installation } = facts;
  const where = `Service ${installation.namespace}/${installation.service}`;
  if (!service.ok) return essentialSkip(`${where}: ${service.why}`);
  if (service.value === undefined) {
    const hasWebhooks = webhooks.ok && webhooks.value.length > 0;
    return finding(
      'problem',
      `${where} not found${hasWebhooks ? ', and webhooks that call it are registered' : ''}`,
      `check whether it has another namespace (--namespace). If not, ${hasWebhooks ? `to remove what is left: ${REMOVE}; or ` : ''}to restore it: ${reinstall(installation)}`,
    );
  }
  const elsewhere = (webhooks.ok ? webhooks.value : []).find(({ clientConfig }) => {
    const called = clientConfig.service;
    return called && (called.name !== installation.service || called.namespace !== installation.namespace);
  });
  if (elsewhere) {
    const { namespace = '', name = '' } = elsewhere.clientConfig.service ?? {};
    return finding(
      'problem',
      `webhook ${elsewhere.name} calls Service ${namespace}/${name}, not ${where}`,
      `check that installation: taintkeeper doctor --namespace ${shellWord(namespace)}`,
    );
  }
  const { clusterIP, externalName, ports = [] } = service.value.spec ?? {};
  const port = calledPort(facts);
  if (isExternal(service.value)) {
    return finding('ok', `${where} leads to ${externalName}, port ${port}`);
  }
  if (!clusterIP || clusterIP === 'None') {
    return finding(
      'problem',
      `${where} has no cluster IP: the API server cannot call a webhook through it`,
      `kubectl delete service --namespace ${installation.namespace} ${installation.service} && ${reinstall(installation)}`,
    );
  }
  if (!ports.some((one) => one.port === port)) {
    const there = ports.map((one) => one.port).join(', ') || 'none';
    return finding(
      'problem',
      `the webhooks call port ${port} of ${where}, which has ${there}`,
      patchService(installation, [changedPort(ports, port)]),
    );
  }
  const { labels, name, selector } = installation.deployment ?? {};
  const selected = service.value.spec?.selector ?? {};
  if (labels && selector && !selects({ matchLabels: selected }, labels)) {
    const compared = Object.entries(labels).filter(([key]) => key in selected || key in selector);
    return finding(
      'problem',
      `${where} selects ${formatLabels(selected) || 'nothing'}, and the pods of Deployment ${installation.namespace}/${name} have ${formatLabels(Object.fromEntries(compared)) || 'nothing'}`,
      patchService(installation, [{ op: 'add', path: '/spec/selector', value: selector }]),
    );
  }
  return finding('ok', `${where}, ${clusterIP} port ${port}`);
}

/** Changes the webhook's port of the Service to the number that is called, or adds one. */
function changedPort(ports: readonly ServicePort[], port: number): object {
  const index = ports.findIndex(({ name, targetPort }) => [name, targetPort].includes(WEBHOOK_PORT_NAME));
  return index < 0
    ? { op: 'add', path: '/spec/ports/-', value: { name: WEBHOOK_PORT_NAME, port, targetPort: WEBHOOK_PORT_NAME } }
    : { op: 'replace', path: `/spec/ports/${index}/port`, value: port };
}
