import { JSON_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { POLICIES_PATH } from './policy-resources.ts';

const TIMEOUT_MS = 30_000;
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/taintpolicies.taintkeeper.dev';
const SCHEMA = '/spec/versions/0/schema/openAPIV3Schema/properties/spec';

interface Definition {
  readonly spec: { readonly versions: [{ schema: { openAPIV3Schema: { properties: { spec: SpecSchema } } } }] };
}
interface SpecSchema {
  readonly properties: object;
}

/**
 * Makes the definition of TaintPolicy one that says nothing of `spec`, as an older one says nothing of some rule: the API server then
 * admits whatever is written. Gives what puts it right.
 */
export function admitAnySpec(cp: ControlPlane): Promise<() => Promise<void>> {
  return changeDefinition(cp, () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }));
}

/** Adds a field `future` to the `spec` of a TaintPolicy, as a newer definition may. Gives what puts it right. */
export function addFuture(cp: ControlPlane): Promise<() => Promise<void>> {
  return changeDefinition(cp, (schema) => ({
    ...schema,
    properties: { ...schema.properties, future: { type: 'string' } },
  }));
}

/** Adds a boolean to `readyWhen` of TaintPolicies, and returns as soon as the API server serves it. */
export async function addReadyWhenField(cp: ControlPlane, field: string): Promise<void> {
  const value = { type: 'boolean' };
  const patch = [
    { op: 'add', path: `${SCHEMA}/properties/taints/items/properties/readyWhen/properties/${field}`, value },
  ];
  await succeeded(cp.request(admin, 'PATCH', CRD, { body: patch, contentType: JSON_PATCH }));
  const readyWhen = { conditions: [{ type: 'A' }], [field]: true };
  const spec = { mode: 'Audit', taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen }] };
  await waitUntilAdmitted(cp, spec, true);
}

async function waitUntilAdmitted(cp: ControlPlane, spec: object, isAdmitted: boolean): Promise<void> {
  const probe = { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', metadata: { name: 'probe' }, spec };
  const url = `${POLICIES_PATH.TaintPolicy}?dryRun=All&fieldValidation=Strict`;
  await waitUntil(
    async () => ((await cp.request(admin, 'POST', url, { body: probe })).status === 201) === isAdmitted || undefined,
    { timeoutMs: TIMEOUT_MS, otherwise: () => 'the definition of TaintPolicy is as it was' },
  );
}

async function changeDefinition(cp: ControlPlane, change: (schema: SpecSchema) => object) {
  const { body } = await cp.request<Definition>(admin, 'GET', CRD);
  const right = body.spec.versions[0].schema.openAPIV3Schema.properties.spec;
  await replace(change(right));
  await waitUntilServed(true);
  return async () => {
    await replace(right);
    await waitUntilServed(false);
  };

  async function replace(value: object): Promise<void> {
    const patch = [{ op: 'replace', path: SCHEMA, value }];
    await succeeded(cp.request(admin, 'PATCH', CRD, { body: patch, contentType: JSON_PATCH }));
  }

  /** A field `future` is in both of what this file makes of a definition, and in none that is right. */
  async function waitUntilServed(isChanged: boolean): Promise<void> {
    await waitUntilAdmitted(cp, { mode: 'Audit', taints: [{ key: 'a' }], future: 'x' }, isChanged);
  }
}
