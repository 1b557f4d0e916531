import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { type Admission, admit } from '../../src/admission/admit.ts';
import { translate } from '../../src/policy/native/translate.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin, developer } from '../control-plane/users.ts';
import { type DaemonSetState, PLACES, type Request, scenario } from './native-daemon-set-cases.ts';
import { createNativeRig, type NativeRig } from './native-rig.ts';

/** Sets of policies, each of which takes the API server a second to take in: more of them with TAINTKEEPER_POLICY_SETS. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 12);
const SEED = 7;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;

describeWithControlPlane('native tolerations and the engine, on generated policies and DaemonSets', {}, (cp) => {
  let rig: NativeRig;
  beforeAll(() => {
    rig = createNativeRig(cp(), { sparesAdmin: true });
  });

  it(
    'agree: the same object comes out, and the same is said of it',
    async (context) => {
      const tally = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(scenario(REQUESTS_PER_SET), async ({ policies, states, requests }) => {
          await enforce(rig, policies);
          await store(cp(), states);
          const compiled = compilePolicies(policies);
          for (const request of requests) {
            const made = await make(cp(), request);
            if (made === undefined) continue;
            const admission = admit({ ...made.request, userInfo: {} }, compiled);
            check(made, admission, policies);
            for (const what of ['cases', ...new Set(admission.violations.map(({ outcome }) => outcome))]) {
              tally.set(what, (tally.get(what) ?? 0) + 1);
            }
          }
        }),
        { numRuns: POLICY_SETS, endOnFailure: true, ...(MORE_POLICY_SETS ? {} : { seed: SEED }) },
      );
      const counted = [...tally].map(([what, times]) => `${what} ${times}`).join(', ');
      await context.annotate(counted);
      if (MORE_POLICY_SETS) process.stderr.write(`${counted}\n`);
      expect([...tally.keys()]).toEqual(expect.arrayContaining(['added', 'missing', 'audited']));
    },
    POLICY_SETS * SET_TIMEOUT_MS,
  );
});

async function enforce(rig: NativeRig, policies: readonly Policy[]): Promise<void> {
  const translations = policies.flatMap((policy) =>
    policy.kind === 'RecoveryPolicy' ? [] : [translate(policy, { among: policies, mutates: true, purpose: 'Alone' })],
  );
  expect(translations.flatMap(({ refusal, limits }) => [...limits, ...(refusal ? [refusal] : [])])).toEqual([]);
  await rig.enforce(translations.flatMap((translation) => translation.policies));
}

interface DaemonSet {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: { readonly template: { readonly spec: { readonly tolerations?: readonly object[] } } };
}

const pathOf = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`;

/** Brings the DaemonSets into their states, unseen by the policies. */
async function store(cp: ControlPlane, states: readonly DaemonSetState[]): Promise<void> {
  for (const [index, { namespace, name }] of PLACES.entries()) {
    const state = states[index];
    if (!state) continue;
    const path = `${pathOf(namespace)}/${name}`;
    const live = await cp.request<DaemonSet>(admin, 'GET', path);
    const { status, body } =
      live.status === 404
        ? await cp.request(admin, 'POST', pathOf(namespace), { body: daemonSet({ name }, state) })
        : await cp.request(admin, 'PUT', path, { body: daemonSet(live.body.metadata, state) });
    if (status >= 300) throw new Error(`not stored: ${JSON.stringify(body)}`);
  }
}

/** Makes the request with dryRun: as the admin, whom the policies pass by, and as somebody else. */
async function make(cp: ControlPlane, request: Request) {
  const { namespace, name, state } = request;
  const path = `${pathOf(namespace)}/${name}`;
  const old = request.what === 'update' ? (await cp.request<DaemonSet>(admin, 'GET', path)).body : undefined;
  const metadata =
    old?.metadata ?? (request.what === 'create' && request.by === 'generateName' ? { generateName: name } : { name });
  const send = (user: typeof admin) =>
    cp.request<DaemonSet>(user, old ? 'PUT' : 'POST', `${old ? path : pathOf(namespace)}?dryRun=All`, {
      body: daemonSet(metadata, state),
    });
  const plain = await send(admin);
  // Not everything that is generated is valid.
  if (plain.status >= 400) return undefined;
  const { name: generated, ...unnamed } = plain.body.metadata;
  return {
    answer: await send(developer),
    request: {
      uid: 'as-good-as-any',
      resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
      namespace,
      operation: old ? 'UPDATE' : 'CREATE',
      // The name is made after admission.
      object: 'generateName' in metadata ? { ...plain.body, metadata: unnamed } : plain.body,
      oldObject: old ?? null,
      generated,
    },
  } as const;
}

function check(
  { request, answer }: { request: object; answer: Answer<DaemonSet> },
  admission: Admission,
  policies: readonly Policy[],
): void {
  const context = () => JSON.stringify({ policies, request, answer, admission }, null, 1);
  expect(answer.status, context()).toBeLessThan(300);
  const wanted = tolerationsOf(admission.object as DaemonSet);
  const got = tolerationsOf(answer.body);
  if (!isDeepStrictEqual(got, wanted)) expect(got, context()).toEqual(wanted);
  expect(answer.warnings.toSorted(), context()).toEqual(warningsOf(admission).toSorted());
}

/** What the API server says in place of the webhook: one warning for each policy. */
function warningsOf({ violations }: Admission): string[] {
  const left = violations.filter(({ outcome }) => outcome !== 'added');
  return [...Map.groupBy(left, ({ policy }) => policy)].map(([policy, found]) => {
    const name = `${policy}.report-tolerations.taintkeeper.dev`;
    const [mode, then] =
      found[0]?.mode === 'Audit' ? [', Audit', ''] : ['', '; added with the next change of the pod template'];
    const subjects = found.map(({ subject }) => subject).join(', ');
    return `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': TolerationPolicy ${policy}${mode}: missing tolerations: ${subjects}${then}`;
  });
}

/** The API server leaves out what is empty. */
function tolerationsOf({ spec }: DaemonSet): object[] {
  return (spec.template.spec.tolerations ?? []).map((toleration) =>
    Object.fromEntries(Object.entries(toleration).filter(([, value]) => value !== '')),
  );
}

function daemonSet(metadata: object, { labels, annotations, tolerations, image }: DaemonSetState): object {
  const selector = { app: 'a' };
  return {
    metadata: { ...metadata, labels, annotations },
    spec: {
      selector: { matchLabels: selector },
      template: { metadata: { labels: selector }, spec: { containers: [{ name: 'c', image }], tolerations } },
    },
  };
}
