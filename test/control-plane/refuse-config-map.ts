import type { ControlPlane } from './control-plane.ts';
import { succeeded } from './rest.ts';
import { admin } from './users.ts';
import { waitUntil } from './wait-until.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const TIMEOUT_MS = 20_000;

/**
 * Creates a ValidatingAdmissionPolicy that refuses ConfigMaps of this name, and waits until the API server enforces it.
 * @returns the paths of the policy and of its binding
 * @throws Error if it is not enforced within 20 s
 */
export async function refuseConfigMap(cp: ControlPlane, name: string): Promise<string[]> {
  const metadata = { name };
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }];
  const objects = {
    validatingadmissionpolicies: {
      matchConstraints: { resourceRules },
      matchConditions: [{ name: 'name', expression: `object.metadata.name == '${name}'` }],
      validations: [{ expression: 'false' }],
    },
    validatingadmissionpolicybindings: { policyName: name, validationActions: ['Deny'] },
  };
  for (const [resource, spec] of Object.entries(objects)) {
    await succeeded(cp.request(admin, 'POST', `${GROUP}/${resource}`, { body: { metadata, spec } }));
  }
  await waitUntil(
    async () => {
      const path = `${CONFIG_MAPS}?dryRun=All`;
      const { body } = await cp.request<{ message?: string }>(admin, 'POST', path, { body: { metadata } });
      return body.message?.includes(`ValidatingAdmissionPolicy '${name}'`) || undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the ValidatingAdmissionPolicy ${name} is not enforced` },
  );
  return Object.keys(objects).map((resource) => `${GROUP}/${resource}/${name}`);
}
