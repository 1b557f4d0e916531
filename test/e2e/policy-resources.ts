import type { V1Status } from '@kubernetes/client-node';
import { crdFiles } from '../../scripts/crds.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const READY_TIMEOUT_MS = 30_000;

/** Where the policies of each kind are, in the API. */
export const POLICIES_PATH: Readonly<Record<PolicyKind, string>> = {
  TaintPolicy: '/apis/taintkeeper.dev/v1alpha1/taintpolicies',
  TolerationPolicy: '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies',
  TolerationRestriction: '/apis/taintkeeper.dev/v1alpha1/tolerationrestrictions',
  RecoveryPolicy: '/apis/taintkeeper.dev/v1alpha1/recoverypolicies',
};

/** Applies the CRDs, and waits until policies can be written. */
export async function installCrds(cp: ControlPlane): Promise<void> {
  for (const [file, input] of Object.entries(crdFiles())) {
    const applied = await cp.kubectl(['apply', '--server-side', '--validate=strict', '-f', '-'], { input });
    if (applied.code !== 0) throw new Error(`${file}: ${applied.stderr}`);
  }
  for (const path of Object.values(POLICIES_PATH)) {
    await waitUntil(async () => ((await cp.request(admin, 'GET', path)).status === 200 ? true : undefined), {
      timeoutMs: READY_TIMEOUT_MS,
      otherwise: () => `${path} is not served`,
    });
  }
}

/** Creates a policy as `kubectl create` does, with strict field validation; with `dryRun` it is judged only. */
export async function createPolicy(
  cp: ControlPlane,
  policy: { kind: PolicyKind },
  { dryRun = false } = {},
): Promise<Answer<V1Status>> {
  const query = `?fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
  return cp.request<V1Status>(admin, 'POST', POLICIES_PATH[policy.kind] + query, { body: policy });
}
