import { type RestClient, succeeded } from './rest.ts';
import { developer } from './users.ts';
import { waitUntil } from './wait-until.ts';

const BOOTSTRAP_TIMEOUT_MS = 30_000;

/** Waits for the namespaces, which the API server makes only after it has said that it is ready. */
export async function waitForNamespaces(rest: RestClient): Promise<void> {
  for (const namespace of ['default', 'kube-system', 'kube-node-lease']) {
    await waitForObject(rest, `/api/v1/namespaces/${namespace}`);
  }
}

/**
 * Waits until the controllers run: the controller manager says that it is well before it has started any of them. No
 * pod can be created before its namespace has this account.
 */
export async function waitForControllers(rest: RestClient): Promise<void> {
  for (const namespace of ['default', 'kube-system']) {
    await waitForObject(rest, `/api/v1/namespaces/${namespace}/serviceaccounts/default`);
  }
}

/** Gives `developer` rights. */
export async function createRoles(rest: RestClient): Promise<void> {
  const metadata = { name: 'developer' };
  await create(rest, 'clusterroles', {
    metadata,
    rules: [
      { apiGroups: [''], resources: ['nodes', 'nodes/status', 'namespaces'], verbs: ['*'] },
      { apiGroups: ['apps'], resources: ['daemonsets', 'daemonsets/status'], verbs: ['*'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    ],
  });
  await create(rest, 'clusterrolebindings', {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: developer.name }],
  });
}

async function waitForObject(rest: RestClient, path: string): Promise<void> {
  await waitUntil(async () => ((await rest.request('GET', path)).status === 200 ? true : undefined), {
    timeoutMs: BOOTSTRAP_TIMEOUT_MS,
    otherwise: () => `the API server has not created ${path} within ${BOOTSTRAP_TIMEOUT_MS / 1000} s`,
  });
}

async function create(rest: RestClient, resource: string, body: object): Promise<void> {
  await succeeded(rest.request('POST', `/apis/rbac.authorization.k8s.io/v1/${resource}`, { body }));
}
