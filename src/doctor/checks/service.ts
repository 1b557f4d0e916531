import { CONFIGURATION_NAME } from '../../cluster/webhook-configurations.ts';
import { formatLabels, selects } from '../../kubernetes/label-selector.ts';
import { shellWord } from '../../kubernetes/text.ts';
import { consequence, essentialSkip, type Finding, finding } from '../check.ts';
import { hostPort } from '../dial.ts';
import type { Facts } from '../facts.ts';
import { type Installation, reinstall } from '../installation.ts';
import { all } from '../reading.ts';
import { calledPort, WEBHOOK_PORT } from '../replica-facts.ts';
import type { ServicePort } from '../service-facts.ts';

const REMOVE = `kubectl delete --ignore-not-found clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration ${CONFIGURATION_NAME}`;

/** Checks that taintkeeper is installed, and once. */
export function checkInstallation({ search }: Pick<Facts, 'search'>): Finding {
  const { asked, found, unconfirmed, chosen, blind } = search;
  const [first, ...others] = found;
  const [labelled] = unconfirmed;
  if (first === undefined) {
    if (labelled !== undefined && chosen === undefined) {
      return finding(
        'problem',
        `${placesOf(unconfirmed)} has the label of taintkeeper, which every user who may create a Deployment can set. No webhook calls it, and ClusterRoleBinding taintkeeper does not name its namespace, or you may not read these`,
        `if that is taintkeeper: taintkeeper doctor --namespace ${labelled.namespace}`,
      );
    }
    if (blind !== undefined) return essentialSkip(blind);
    // The webhooks or the user named a Service: the check of the Service tells whether it exists.
    if (chosen) return finding('skipped', 'neither a Deployment nor a Service of taintkeeper was found: see Service');
    return finding(
      'problem',
      'taintkeeper is not installed in this cluster: there is no Deployment or Service of it, and no webhook',
      'with Helm: helm install taintkeeper CHART --namespace taintkeeper --create-namespace; without Helm: kubectl apply -f install.yaml',
    );
  }
  if (chosen === undefined) {
    return finding(
      'problem',
      `taintkeeper is not installed in namespace ${asked.namespace}: it is ${placesOf(found)}`,
      `taintkeeper doctor --namespace ${first.namespace}`,
    );
  }
  if (others.length > 0) {
    return finding(
      'problem',
      `taintkeeper is installed ${found.length} times: ${placesOf(found)}. All of them write the same webhook configurations, each over what the others wrote; the first is looked into here`,
      'keep one, and delete the Deployment and the Service of the others. Do not use helm uninstall: it would delete the ClusterRole, which they share',
    );
  }
  if (unconfirmed.length > 0) {
    return finding(
      'note',
      `${placeOf(first)}. ${placesOf(unconfirmed)} has the label of taintkeeper as well, which every user who may create a Deployment can set`,
    );
  }
  return finding('ok', placeOf(first));
}

function placesOf(installations: readonly Installation[]): string {
  return installations.map(placeOf).join(' and ');
}

function placeOf({ namespace, service, deployment, helmRelease }: Installation): string {
  const object = deployment ? `Deployment ${namespace}/${deployment.name}` : `Service ${namespace}/${service}`;
  return helmRelease === undefined ? object : `${object} of Helm release ${helmRelease}`;
}

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
      `does it have another namespace (--namespace)? If not, ${hasWebhooks ? `to be rid of what is left: ${REMOVE}; or ` : ''}put it back: ${reinstall(installation)}`,
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
      `look there: taintkeeper doctor --namespace ${shellWord(namespace)}`,
    );
  }
  const { type = 'ClusterIP', clusterIP, externalName, ports = [] } = service.value.spec ?? {};
  const port = calledPort(facts);
  if (type === 'ExternalName') {
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
  const index = ports.findIndex(({ name, targetPort }) => [name, targetPort].includes(WEBHOOK_PORT));
  return index < 0
    ? { op: 'add', path: '/spec/ports/-', value: { name: WEBHOOK_PORT, port, targetPort: WEBHOOK_PORT } }
    : { op: 'replace', path: `/spec/ports/${index}/port`, value: port };
}

/** A JSON patch, because `kubectl apply` merges ports by number, and merges labels. */
function patchService({ namespace, service }: Installation, patch: readonly object[]): string {
  return `kubectl patch service --namespace ${namespace} ${service} --type=json --patch=${shellWord(JSON.stringify(patch))}`;
}

/** Checks that the Service has ready endpoints, at the port on which they listen. */
export function checkEndpoints(facts: Facts): Finding {
  const { slices } = facts;
  if (!slices.ok) return finding('skipped', slices.why);
  return consequence(endpoints(facts), (cause) => `see ${cause}`);
}

function endpoints(facts: Facts): Finding {
  const { replicas, pods, installation, service, webhooks } = facts;
  if (service.ok && service.value?.spec?.type === 'ExternalName') {
    return finding('ok', 'none: the Service is of type ExternalName');
  }
  const name = `${installation.namespace}/${installation.service}`;
  const listed = replicas.filter(({ endpoint }) => endpoint !== undefined);
  const ready = listed.filter(({ endpoint }) => endpoint?.isReady);
  if (ready.length === 0) {
    // Only these tell which port of the slices is called.
    const called = all({ service, webhooks });
    if (!called.ok) return finding('skipped', called.why);
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
        { op: 'replace', path: `/spec/ports/${index}/targetPort`, value: WEBHOOK_PORT },
      ]),
    );
  }
  const addresses = ready.map(({ name: replica, address, port, endpoint }) => {
    const called = hostPort(address, endpoint?.port ?? port);
    return replica === called ? called : `${replica} (${called})`;
  });
  return finding('ok', `${ready.length} ready: ${addresses.join(', ')}`);
}
