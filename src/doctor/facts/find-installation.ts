import type { ApiClient } from '../../cluster/client/api-client.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { OWN_LABEL, OWN_NAMESPACE, OWN_SERVICE } from '../../cluster/installation/own-names.ts';
import { boundNamespaces, calledService } from '../../cluster/installation/where-installed.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { chooseInstallation, type InstallationChoice, type Search } from './choose-installation.ts';
import { asTheManifests, type DeploymentObject, type Installation, viewInstallation } from './installation.ts';
import { READ_TIMEOUT_MS, type Reading, read, readingOf, readObject } from './reading.ts';

/**
 * Finds taintkeeper by the label of its Deployments and Services, and by the Service that the registered webhooks call. Searches all
 * namespaces or, without the right to list those, the ones where taintkeeper may be. Nothing is thrown.
 */
export async function findInstallation(client: ApiClient, choice: InstallationChoice): Promise<Search> {
  const limit = { timeoutMs: READ_TIMEOUT_MS };
  const [calledReading, bound] = await Promise.all([
    read(() => calledService(client, limit)),
    read(() => boundNamespaces(client, limit)),
  ]);
  const called = calledReading.ok ? calledReading.value : undefined;
  const trusted = [called?.namespace, client.namespace, ...(bound.ok ? bound.value : [])].filter(
    (namespace) => namespace !== undefined,
  );
  const likely = [choice.namespace, ...trusted, OWN_NAMESPACE].filter((namespace) => namespace !== undefined);
  const namespaces = [...new Set(likely)];
  const [deployments, services] = await Promise.all([
    labelled<DeploymentObject>(client, '/apis/apps/v1', 'deployments', namespaces),
    servicesIn(client, called?.name ?? OWN_SERVICE, namespaces),
  ]);
  return chooseInstallation(choice, {
    labelled: installationsBy(deployments.ok ? deployments.value : [], services.ok ? services.value : []),
    called,
    trusted,
    ownNamespace: client.namespace,
    blind: !deployments.ok ? deployments.why : services.ok ? undefined : services.why,
  });
}

/** The installations of the Deployments, and those of Services that none of these has. */
function installationsBy(deployments: readonly DeploymentObject[], services: readonly Named[]): Installation[] {
  const deployed = deployments.map(viewInstallation);
  const served = services.map(({ metadata: { namespace = '', name } }) => asTheManifests({ namespace, service: name }));
  return [
    ...deployed,
    ...served.filter(
      ({ namespace, service }) => !deployed.some((one) => one.namespace === namespace && one.service === service),
    ),
  ];
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Lists in all namespaces or, without the right to that, in these. */
async function labelled<T>(
  client: ApiClient,
  group: string,
  resource: string,
  namespaces: readonly string[],
): Promise<Reading<readonly T[]>> {
  const query = { labelSelector: OWN_LABEL };
  const listed = (path: string) => read(() => listObjects(client, path, (object) => object as T, query));
  const all = await listed(`${group}/${resource}`);
  if (all.ok) return all;
  const parts = await Promise.all(namespaces.map((namespace) => listed(namespacedPath(group, namespace, resource))));
  const seen = parts.flatMap((part) => (part.ok ? part.value : []));
  return seen.length > 0 ? readingOf(seen) : all;
}

/** A user who may not list Services, such as taintkeeper itself, may still get one by its name. */
async function servicesIn(
  client: ApiClient,
  name: string,
  namespaces: readonly string[],
): Promise<Reading<readonly Named[]>> {
  const services = await labelled<Named>(client, '/api/v1', 'services', namespaces);
  if (services.ok) return services;
  const objects = await Promise.all(
    namespaces.map((namespace) =>
      read(() => readObject<Named>(client, namespacedPath('/api/v1', namespace, 'services', name))),
    ),
  );
  const seen = objects.flatMap((one) => (one.ok && one.value ? [one.value] : []));
  return seen.length > 0 ? readingOf(seen) : services;
}
