import { manifestsOf } from '../../src/policy/native/manifests.ts';
import type { NativePolicy } from '../../src/policy/native/native-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

/** The API server takes what is new in once a second, and compiles all of it then. */
const EFFECT_TIMEOUT_MS = 20_000;

type Kind = NativePolicy['kind'];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** Native policies on a real API server. */
export interface NativePolicies {
  /** Puts these in force instead of those before, and returns once the API server goes by them. Requests of the admin pass them all by. */
  enforce(policies: readonly NativePolicy[]): Promise<void>;
}

const NOT_ADMIN = { name: 'not-admin', expression: `request.userInfo.username != "${admin.name}"` };

/** Which version of MutatingAdmissionPolicy the API server of the tests has. */
export function mutatingVersion({ version }: ControlPlane): 'v1' | 'v1beta1' {
  return version.minor >= 36 ? 'v1' : 'v1beta1';
}

/** @param cp whose API server it is */
export function createNativePolicies(cp: ControlPlane): NativePolicies {
  const version = mutatingVersion(cp);
  let inForce: Manifest[] = [];
  let generation = 0;

  const pathOf = ({ apiVersion, kind }: Manifest) =>
    `/apis/${apiVersion}/${kind.endsWith('Binding') ? `${kind}s` : kind.replace(/y$/, 'ies')}`.toLowerCase();

  async function create(manifest: Manifest): Promise<void> {
    const { status, body } = await cp.request(admin, 'POST', pathOf(manifest), { body: manifest });
    if (status !== 201) throw new Error(`${manifest.metadata.name}: ${JSON.stringify(body).slice(0, 2_000)}`);
  }

  return {
    async enforce(policies) {
      for (const manifest of inForce) {
        await cp.request(admin, 'DELETE', `${pathOf(manifest)}/${manifest.metadata.name}`);
      }
      generation += 1;
      const probe = `probe-${generation}`;
      const own = policies.map((policy) => ({
        ...policy,
        spec: { ...policy.spec, matchConditions: [...policy.spec.matchConditions, NOT_ADMIN] },
      })) as NativePolicy[];
      inForce = [...own, ...probesFor(probe)].flatMap((policy) => manifestsOf(policy, version));
      for (const manifest of inForce) await create(manifest);
      await waitUntil(
        async () => {
          const answer = await cp.request<{ message?: string }>(admin, 'POST', '/api/v1/nodes?dryRun=All', {
            body: { metadata: { name: probe } },
          });
          return answer.body.message?.includes(`${probe} is in force`) || undefined;
        },
        { timeoutMs: EFFECT_TIMEOUT_MS, otherwise: () => `the API server does not go by ${probe}` },
      );
    },
  };
}

/** All that was written before them is in force when these are: the one refuses what the other marks. */
function probesFor(name: string): NativePolicy[] {
  const common = (kind: Kind) => ({
    name: `${name}.${kind === 'MutatingAdmissionPolicy' ? 'marks' : 'refuses'}.test`,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] }],
      },
      matchConditions: [{ name: 'is-the-probe', expression: `request.name == "${name}"` }],
      variables: [],
    } as const,
  });
  const marks = common('MutatingAdmissionPolicy');
  const refuses = common('ValidatingAdmissionPolicy');
  return [
    {
      kind: 'MutatingAdmissionPolicy',
      name: marks.name,
      spec: {
        ...marks.spec,
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: {"marked": "yes"}}]' },
          },
        ],
      },
    },
    {
      kind: 'ValidatingAdmissionPolicy',
      name: refuses.name,
      validationActions: ['Deny'],
      spec: {
        ...refuses.spec,
        validations: [
          {
            expression: '!has(object.metadata.labels) || !("marked" in object.metadata.labels)',
            messageExpression: `"${name} is in force"`,
            reason: 'Forbidden',
          },
        ],
        auditAnnotations: [],
      },
    },
  ];
}
