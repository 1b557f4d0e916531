import { MERGE_PATCH } from './content-types.ts';
import type { ControlPlane } from './control-plane.ts';
import { succeeded } from './rest.ts';
import { admin } from './users.ts';

/**
 * Makes a Service, and its namespace where that is missing, that leads the API server to this machine. A webhook's
 * `clientConfig.service` with this Service and the port of a {@link startServiceProxy} reaches the proxy; the
 * certificate it asks for is the one of `<name>.<namespace>.svc`. A Service that is there, such as that of
 * manifests/install.yaml, is changed.
 *
 * @throws Error when the API server refuses
 */
export async function createWebhookService(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const spec = { type: 'ExternalName', externalName: 'localhost' };
  const path = `/api/v1/namespaces/${namespace}/services`;
  await make(cp, '/api/v1/namespaces', { metadata: { name: namespace } });
  const made = await make(cp, path, { metadata: { name }, spec });
  if (made === 'created') return;
  await succeeded(cp.request(admin, 'PATCH', `${path}/${name}`, { body: { spec }, contentType: MERGE_PATCH }));
}

async function make(cp: ControlPlane, path: string, body: object): Promise<'created' | 'there'> {
  const answer = await cp.request(admin, 'POST', path, { body });
  if (answer.status === 201) return 'created';
  if (answer.status === 409) return 'there';
  throw new Error(`cannot create ${path}: ${JSON.stringify(answer.body)}`);
}
