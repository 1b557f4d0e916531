import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import {
  isPerson,
  type NeededAuthorization,
  neededAuthorizations,
  type PodCreator,
} from '../../src/judge/request/pod-authorization.ts';
import type { ToleratingPod } from '../../src/judge/tolerator.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import { translate } from '../../src/native/translate.ts';
import { parsePolicy, type TolerationRestriction } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { MAX_RESTRICTED_TAINTS, type TolerationRestrictionSpec } from '../../src/policy/toleration-restriction.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin, developer, serviceAccount, type User } from '../control-plane/users.ts';
import { isExploring, seed } from '../seed.ts';
import { manifest } from '../unit/policy/policies.ts';
import { createNativeRig, type NativeRig } from './native-rig.ts';
import { mayTolerate, permitPods, SOMEBODY } from './who-may.ts';

/** Sets of policies, each of which takes the API server two seconds to take in: more of them with TAINTKEEPER_POLICY_SETS. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 4);
const SEED = 11;
const PODS_PER_SET = 80;
const SET_TIMEOUT_MS = 30_000;

const KEYS = ['a', 'example.com/b', 'node.kubernetes.io/unschedulable', 'node.kubernetes.io/unreachable'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const NAMESPACES = ['team', 'team-x', 'kube-system'];
/** Who may tolerate what, whatever the policies. */
const TRUSTED = 'trusted';
const RIGHTS = [{ key: 'a', subject: { kind: 'ServiceAccount', namespace: 'team', name: TRUSTED } }] as const;
/** The key that {@link AUTHORIZED_USERS} may tolerate. */
const USERS_KEY = 'example.com/b';

/** They may tolerate what SOMEBODY may, by a right of their own. */
const CONTROLLERS = [
  serviceAccount('kube-system', 'replicaset-controller'),
  serviceAccount('team', 'operator'),
  { name: 'system:kube-controller-manager', groups: [] },
];
const USERS = [developer, SOMEBODY, ...CONTROLLERS];
const AUTHORIZED_USERS: readonly User[] = [SOMEBODY, ...CONTROLLERS];

const maybe = <T>(one: fc.Arbitrary<T>, freq = 2) => fc.option(one, { nil: undefined, freq });
const value = fc.constantFrom('', 'v', 'w');
const effect = maybe(fc.constantFrom(...EFFECTS));

function restriction(name: string, spec: TolerationRestrictionSpec): TolerationRestriction {
  const parsed = parsePolicy(manifest('TolerationRestriction', name, spec));
  if (!parsed.ok || parsed.policy.kind !== 'TolerationRestriction') throw new Error(JSON.stringify(parsed));
  return parsed.policy;
}

const translated = (policy: TolerationRestriction) =>
  translate(policy, { among: [], mutates: false, purpose: 'Backstop' });

const policy = (name: string): fc.Arbitrary<TolerationRestriction> =>
  fc
    .record({
      mode: fc.constantFrom('Audit' as const, 'Deny' as const),
      exceptNamespaces: maybe(fc.subarray(['kube-system', 'team', '*-x', 'team*'])),
      taints: fc.array(fc.record({ key: fc.constantFrom(...KEYS), value: maybe(value, 3), effect }), {
        minLength: 1,
        maxLength: 4,
      }),
    })
    // Without the fields that are undefined.
    .map((spec) => restriction(name, JSON.parse(JSON.stringify(spec))));

/** What the API server takes: without a key only Exists, seconds only with NoExecute. */
const toleration: fc.Arbitrary<Toleration> = fc
  .record({
    // What has no key outweighs all else.
    key: maybe(fc.constantFrom(...KEYS, 'another'), 8),
    operator: maybe(fc.constantFrom('Exists', 'Equal')),
    value,
    effect,
    seconds: maybe(fc.constant(300)),
  })
  .map(({ key, operator, value, effect, seconds }) => {
    const exists = key === undefined || operator === 'Exists';
    return {
      ...(key === undefined ? {} : { key }),
      ...(exists ? { operator: 'Exists' } : { operator, value }),
      ...(effect === undefined ? {} : { effect }),
      ...(effect === 'NoExecute' && seconds !== undefined ? { tolerationSeconds: seconds } : {}),
    };
  });

interface Case extends ToleratingPod {
  /** Of a pod that gets more. */
  readonly earlier: readonly Toleration[];
  readonly user: User;
  /** Only of a pod that is created: with a controller, the admin could not create a pod to change. */
  readonly owner: 'none' | 'a controller' | 'no controller';
  readonly what: 'pod' | 'more tolerations' | 'deployment' | 'cron job';
}

const pod: fc.Arbitrary<Case> = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  serviceAccount: fc.constantFrom('', 'default', TRUSTED),
  nodeName: fc.constantFrom('', '', '', 'n1'),
  earlier: fc.array(toleration, { maxLength: 2 }),
  tolerations: fc.uniqueArray(toleration, { maxLength: 3, selector: (one) => JSON.stringify(one) }),
  user: fc.constantFrom(developer, SOMEBODY, ...USERS),
  owner: fc.constantFrom('none', 'none', 'a controller', 'no controller'),
  what: fc.constantFrom('pod', 'pod', 'more tolerations', 'deployment', 'cron job'),
});

const WORKLOADS = {
  deployment: '/apis/apps/v1/namespaces/NAMESPACE/deployments',
  'cron job': '/apis/batch/v1/namespaces/NAMESPACE/cronjobs',
} as const;

function workload({ what }: Case, spec: object): object {
  const labels = { app: 'a' };
  const template = { metadata: { labels }, spec };
  const metadata = { name: 'p' };
  return what === 'deployment'
    ? { metadata, spec: { selector: { matchLabels: labels }, template } }
    : {
        metadata,
        spec: {
          schedule: '0 0 * * *',
          jobTemplate: { spec: { template: { ...template, spec: { ...spec, restartPolicy: 'Never' } } } },
        },
      };
}

function specOf({ serviceAccount, nodeName, tolerations }: ToleratingPod): object {
  return {
    containers: [{ name: 'c', image: 'example.com/c' }],
    ...(serviceAccount === '' ? {} : { serviceAccountName: serviceAccount }),
    ...(nodeName === '' ? {} : { nodeName }),
    tolerations,
  };
}

function metadataOf({ owner }: Case): object {
  if (owner === 'none') return {};
  const controller = owner === 'a controller' ? { controller: true } : {};
  return { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'o', uid: '1', ...controller }] };
}

interface PodObject {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly tolerations: readonly Toleration[] };
}

/** Makes the request with dryRun. Gives what of the pod is asked about, besides. */
async function make(
  cp: ControlPlane,
  one: Case,
): Promise<{ answer: Answer<{ message?: string }>; asked: ToleratingPod }> {
  const { namespace, what, user, earlier, tolerations } = one;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  if (what === 'pod') {
    const body = { metadata: { name: 'p', ...metadataOf(one) }, spec: specOf(one) };
    return { answer: await cp.request<{ message?: string }>(user, 'POST', `${pods}?dryRun=All`, { body }), asked: one };
  }
  if (what === 'more tolerations') {
    // The admin may tolerate everything.
    const body = { metadata: { generateName: 'p-' }, spec: specOf({ ...one, tolerations: earlier }) };
    const { body: stored } = await cp.request<PodObject>(admin, 'POST', pods, { body });
    const path = `${pods}/${stored.metadata.name}`;
    const spec = { ...stored.spec, tolerations: [...stored.spec.tolerations, ...tolerations] };
    const put = <T>(by: User) => cp.request<T>(by, 'PUT', `${path}?dryRun=All`, { body: { ...stored, spec } });
    const plain = await put<PodObject>(admin);
    const answer = await put<{ message?: string }>(user);
    await cp.request(admin, 'DELETE', `${path}?gracePeriodSeconds=0`);
    // As the API server writes them. A node has been found, or was asked about before.
    const added = plain.body.spec.tolerations.filter(
      (now) => !stored.spec.tolerations.some((was) => isDeepStrictEqual(was, now)),
    );
    return { answer, asked: { ...one, nodeName: '', tolerations: added } };
  }
  const path = WORKLOADS[what].replace('NAMESPACE', namespace);
  const answer = await cp.request<{ message?: string }>(user, 'POST', `${path}?dryRun=All`, {
    body: workload(one, specOf(one)),
  });
  return { answer, asked: one };
}

function requesterOf({ user, owner, what }: Case): PodCreator {
  return { user: user.name, hasController: what === 'pod' && owner === 'a controller' };
}

/** The keys for which neither the service account nor a person is authorized. A controller creates the pods of a template. */
function unauthorized(one: Case, asked: readonly NeededAuthorization[]): NeededAuthorization[] {
  const { namespace, serviceAccount, user, what } = one;
  const account = serviceAccount || 'default';
  const isPod = what === 'pod' || what === 'more tolerations';
  const usersCount = isPod && isPerson(requesterOf(one));
  return asked.filter(({ key }) => {
    if (usersCount && key === USERS_KEY && AUTHORIZED_USERS.includes(user)) return false;
    return !RIGHTS.some(
      ({ key: granted, subject }) => granted === key && subject.namespace === namespace && subject.name === account,
    );
  });
}

describeWithControlPlane('who may tolerate: the API server and the model, on generated policies', {}, (cp) => {
  let rig: NativeRig;
  beforeAll(async () => {
    rig = createNativeRig(cp(), { mutatingVersion: 'none' });
    await permitPods(cp(), USERS);
    for (const { key, subject } of RIGHTS) await mayTolerate(cp(), key, subject);
    for (const { name } of AUTHORIZED_USERS) await mayTolerate(cp(), USERS_KEY, { kind: 'User', name });
    for (const namespace of NAMESPACES) {
      if (namespace !== 'kube-system') await cp().kubectl(['create', 'namespace', namespace]);
      for (const name of ['default', TRUSTED]) await cp().kubectl(['create', 'serviceaccount', name, '-n', namespace]);
    }
  });

  it(
    'agree on what is refused, and on what is said',
    async (context) => {
      const tally = new Map<string, number>();
      const scenario = fc.record({
        policies: fc.tuple(policy('p'), policy('q')),
        pods: fc.array(pod, { minLength: PODS_PER_SET, maxLength: PODS_PER_SET }),
      });
      await fc.assert(
        fc.asyncProperty(scenario, async ({ policies, pods }) => {
          const translations = policies.map(translated);
          expect(translations.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
          await rig.enforce(translations.flatMap((translation) => translation.policies));
          const { tolerationRestrictions } = compilePolicies(policies);
          for (const one of pods) {
            const { answer, asked } = await make(cp(), one);
            const faults = unauthorized(one, neededAuthorizations(asked, tolerationRestrictions));
            const context = JSON.stringify({ policies, one, faults, answer }, null, 1);
            const isPod = one.what === 'pod' || one.what === 'more tolerations';
            const refused = isPod ? faults.filter(({ mode }) => mode === 'Deny') : [];
            expect(answer.status === 403, context).toBe(refused.length > 0);
            if (refused.length > 0)
              expect(answer.body.message, context).toMatch(/denied request: TolerationRestriction [pq] \(/);
            else expect(answer.status, context).toBeLessThan(300);
            const told = faults.filter((fault) => !refused.includes(fault));
            const titles = (texts: readonly string[]) =>
              texts.map((text) => / may (?:not )?tolerate (\S+)\. /.exec(text)?.[1]).sort();
            const isController = !isPerson(requesterOf(one));
            const warnings = answer.warnings.filter((text) => text.includes('TolerationRestriction'));
            expect(titles(warnings), context).toEqual(told.map(({ key }) => key).sort());
            const result = refused.length > 0 ? 'refused' : told.length > 0 ? 'told' : 'passed';
            const names = [`${one.what}: ${result}`];
            if (isPod && isController && AUTHORIZED_USERS.includes(one.user)) names.push(`a controller's: ${result}`);
            for (const name of names) tally.set(name, (tally.get(name) ?? 0) + 1);
          }
        }),
        { numRuns: POLICY_SETS, endOnFailure: true, seed: seed(SEED) },
      );
      const counted = [...tally].map(([what, times]) => `${what} ${times}`).join(', ');
      await context.annotate(counted);
      if (!isExploring()) {
        expect([...tally.keys()]).toEqual(
          expect.arrayContaining([
            'pod: refused',
            'pod: told',
            'pod: passed',
            'more tolerations: refused',
            'deployment: told',
            "a controller's: refused",
          ]),
        );
      }
    },
    POLICY_SETS * SET_TIMEOUT_MS,
  );

  it('agree on a pod that is asked about as many keys as a policy can have, and may have them all', async () => {
    const keys = Array.from({ length: MAX_RESTRICTED_TAINTS }, (_, index) => `many-${index}`);
    const taints = keys.map((key) => ({ key }));
    const { policies, limits } = translated(restriction('p', { mode: 'Deny', taints }));
    const size = Number(/with more than (\d+) tolerations$/.exec(limits[0]?.message ?? '')?.[1]);
    await rig.enforce(policies);
    for (const key of keys) await mayTolerate(cp(), key, { kind: 'User', name: SOMEBODY.name });
    const tolerations = Array.from(
      { length: size - 2 },
      (_, index): Toleration => ({ key: `other-${index}`, operator: 'Exists' }),
    );
    const body = {
      metadata: { name: 'p' },
      spec: { ...specOf({ namespace: 'team', serviceAccount: '', nodeName: '', tolerations }) },
    };
    const create = (user: User, more: Toleration[]) =>
      cp().request<{ message?: string }>(user, 'POST', '/api/v1/namespaces/team/pods?dryRun=All', {
        body: { ...body, spec: { ...body.spec, tolerations: [...tolerations.slice(1), ...more] } },
      });
    const everything = [{ operator: 'Exists' }];
    // Neither the service account nor, once it was asked, the user may: twice the cost, for each key.
    expect((await create(developer, everything)).body.message).toContain('may tolerate many-0. ');
    await expect.poll(async () => (await create(SOMEBODY, everything)).status).toBe(201);
  });
});
