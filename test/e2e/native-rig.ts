import { type MutatingVersion, manifestsOf, type NativeManifest } from '../../src/native/manifests.ts';
import { capabilitiesOf } from '../../src/native/native-capabilities.ts';
import type { NativePolicy } from '../../src/native/native-policy.ts';
import { APPLY_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { testedMinor } from '../control-plane/kubernetes.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

/** The API server looks once a second whether there is something new, and compiles it. */
const EFFECT_TIMEOUT_MS = 45_000;

const RESOURCES: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
};

/** Native policies on a real API server. */
export interface NativeRig {
  /**
   * Puts the policies in the place of those before, and returns once the API server goes by them.
   * @throws Error with the API server's words for one that it does not take
   */
  enforce(policies: readonly NativePolicy[]): Promise<void>;
}

export interface NativeRigOptions {
  /** `none`: the API server has no MutatingAdmissionPolicy. */
  readonly mutatingVersion?: MutatingVersion | 'none';
  /** Whether the policies pass the requests of the admin by, so that objects can be brought into any state. */
  readonly sparesAdmin?: boolean;
}

/** In which version the API server that is tested has MutatingAdmissionPolicy. */
export const MUTATING_VERSION: MutatingVersion | 'none' = capabilitiesOf(testedMinor())?.mutating ?? 'none';

/** Why there is no MutatingAdmissionPolicy, if so. */
export const obstacleToMutation =
  MUTATING_VERSION !== 'none' ? undefined : 'Kubernetes has MutatingAdmissionPolicy since 1.34';

export function createNativeRig(cp: ControlPlane, options: NativeRigOptions = {}): NativeRig {
  const { mutatingVersion = 'v1', sparesAdmin = false } = options;
  let inForce: readonly NativeManifest[] = [];
  let probes: readonly NativeManifest[] = [];
  let generation = 0;

  const manifests = (policies: readonly NativePolicy[]) =>
    policies.flatMap((policy) => manifestsOf(policy, mutatingVersion === 'none' ? 'v1' : mutatingVersion));

  async function replace(before: readonly NativeManifest[], after: readonly NativeManifest[]): Promise<void> {
    const names = new Set(after.map(keyOf));
    for (const manifest of before) if (!names.has(keyOf(manifest))) await cp.request(admin, 'DELETE', pathOf(manifest));
    for (const manifest of after) await apply(cp, manifest);
  }

  /** Policies, and bindings, come to the API server's admission in the order in which they were written: these are the last ones. */
  async function probe(): Promise<void> {
    generation += 1;
    const next = manifests(
      probePolicies(generation).filter(
        ({ kind }) => mutatingVersion !== 'none' || kind === 'ValidatingAdmissionPolicy',
      ),
    );
    await replace(probes, next);
    probes = next;
    await waitUntil(
      async () => {
        const answer = await cp.request<ProbeAnswer>(admin, 'POST', '/api/v1/namespaces?dryRun=All', {
          body: { metadata: { name: `probe-${generation}` } },
        });
        const mutated = mutatingVersion === 'none' || answer.body.metadata?.annotations?.probe === String(generation);
        return mutated && answer.warnings.length > 0 ? true : undefined;
      },
      { timeoutMs: EFFECT_TIMEOUT_MS, otherwise: () => `the policies of round ${generation} are not in force` },
    );
  }

  return {
    async enforce(policies) {
      const desired = manifests(sparesAdmin ? policies.map(sparingAdmin) : policies);
      await replace(inForce, desired);
      inForce = desired;
      await probe();
      // The API server takes in the bindings, and then one policy after the other (policy_source.go): when it came to the probe, it
      // may have passed others before their news arrived. The next time they have.
      await probe();
    },
  };
}

interface ProbeAnswer {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

/** Writes the object, whether it is there or not. */
async function apply(cp: ControlPlane, manifest: NativeManifest): Promise<void> {
  const path = `${pathOf(manifest)}?fieldManager=test&force=true`;
  await succeeded(cp.request(admin, 'PATCH', path, { body: manifest, contentType: APPLY_PATCH }));
}

function pathOf({ apiVersion, kind, metadata }: NativeManifest): string {
  return `/apis/${apiVersion}/${RESOURCES[kind]}/${metadata.name}`;
}

function keyOf({ kind, metadata }: NativeManifest): string {
  return `${kind}/${metadata.name}`;
}

function sparingAdmin<Policy extends NativePolicy>(policy: Policy): Policy {
  const notAdmin = { name: 'not-admin', expression: `request.userInfo.username != "${admin.name}"` };
  return { ...policy, spec: { ...policy.spec, matchConditions: [notAdmin, ...policy.spec.matchConditions] } };
}

/** One of each kind, for nothing but the creation of a namespace with a certain name. */
function probePolicies(generation: number): NativePolicy[] {
  const common = {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], operations: ['CREATE'] }],
    },
    matchConditions: [{ name: 'is-the-probe', expression: `object.metadata.name == "probe-${generation}"` }],
    variables: [],
  } as const;
  const name = `probe-${generation}.example.com`;
  const annotations = `{"probe": "${generation}"}`;
  return [
    {
      kind: 'MutatingAdmissionPolicy',
      name,
      spec: {
        ...common,
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: `[JSONPatch{op: "add", path: "/metadata/annotations", value: ${annotations}}]`,
            },
          },
        ],
      },
    },
    {
      kind: 'ValidatingAdmissionPolicy',
      name,
      spec: {
        ...common,
        validations: [{ expression: 'false', messageExpression: '"seen"', reason: 'Forbidden' }],
        auditAnnotations: [],
      },
      validationActions: ['Warn'],
    },
  ];
}
