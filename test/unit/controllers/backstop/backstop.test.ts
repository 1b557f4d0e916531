import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { type PolicyInForce, type PolicyObject, viewPolicy } from '../../../../src/cluster/policies/policy-object.ts';
import { type BackstopOptions, backstop } from '../../../../src/controllers/backstop/backstop-controller.ts';
import type { NativePolicy } from '../../../../src/native/native-policy.ts';
import type { NativeTranslation } from '../../../../src/native/translation.ts';
import type { Policy } from '../../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { manifest } from '../../policy/policies.ts';
import { stopClock } from '../../stopped-clock.ts';
import { type NativeApi, nativeApi } from './native-api.ts';

const VALIDATING = 'validatingadmissionpolicies';
const SPEC: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'a' }], backstop: 'Native' };

/** As a newer version may allow it. */
const UNUSABLE = { ...SPEC, mode: 'Warn' } as unknown as TaintPolicySpec;

const common = {
  failurePolicy: 'Fail',
  matchConstraints: {
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] }],
  },
  matchConditions: [],
  variables: [],
} as const;

/** One policy of each kind. */
function both(name: string): NativePolicy[] {
  return [
    {
      kind: 'ValidatingAdmissionPolicy',
      name: `${name}.protect.taintkeeper.dev`,
      spec: {
        ...common,
        validations: [{ expression: 'false', messageExpression: '"no"', reason: 'Forbidden' }],
        auditAnnotations: [],
      },
      validationActions: ['Deny'],
    },
    {
      kind: 'MutatingAdmissionPolicy',
      name: `${name}.restore.taintkeeper.dev`,
      spec: { ...common, reinvocationPolicy: 'Never', mutations: [] },
    },
  ];
}

function policy(name: string, spec: TaintPolicySpec = SPEC, generation = 1, known?: PolicyInForce): PolicyObject {
  const metadata = { name, uid: `uid-of-${name}`, generation, resourceVersion: '1' };
  return viewPolicy('TaintPolicy', { ...manifest('TaintPolicy', name, spec), metadata }, known);
}

interface Setting extends Partial<Pick<BackstopOptions, 'audit' | 'ownerClusterRole'>> {
  /** Whether native policies may be written; undefined while nobody knows. */
  readonly mayWrite?: () => boolean | undefined;
  readonly translate?: Parameters<typeof backstop>[2];
}

function controller(api: NativeApi, setting: Setting = {}) {
  const { mayWrite = () => true, translate = ({ name }) => ({ policies: both(name), limits: [] }), ...rest } = setting;
  const objects = [policy('a')];
  const options = {
    client: api.client,
    policies: { objects: () => objects, changes: createSubject() },
    rights: { permits: mayWrite, changes: createSubject() },
    audit: false,
    namespace: 'taintkeeper',
    ownerClusterRole: 'taintkeeper',
    ...rest,
  };
  const { reconcile, condition, problems } = backstop(options, pino({ level: 'silent' }), translate);
  const conditionOf = (index = 0) => condition(objects[index] as PolicyObject);
  return { objects, reconcile, problems, conditionOf };
}

const forbidden = (method: string, path: string) => {
  throw new ApiError(method, path, 403, 'Forbidden', 'not you');
};

it('writes mutating before validating policies, each before its binding, and nothing more the next time', async () => {
  const api = nativeApi();
  const { reconcile, conditionOf } = controller(api);
  expect(conditionOf()).toBe('pending');
  expect(await reconcile()).toBeLessThan(1_000);
  expect(api.writes).toEqual([
    'POST mutatingadmissionpolicies/a.restore.taintkeeper.dev',
    'POST mutatingadmissionpolicybindings/a.restore.taintkeeper.dev',
    'POST validatingadmissionpolicies/a.protect.taintkeeper.dev',
    'POST validatingadmissionpolicybindings/a.protect.taintkeeper.dev',
  ]);
  await reconcile();
  expect(api.writes).toHaveLength(4);
  expect(conditionOf()).toMatchObject({
    status: 'True',
    reason: 'InForce',
    message: expect.stringContaining(
      'a.restore.taintkeeper.dev, a.protect.taintkeeper.dev; the API server has not yet',
    ),
  });
});

it('what decides goes with the policy, and what puts it in force with the installation', async () => {
  const api = nativeApi();
  await controller(api).reconcile();
  const ownerOf = (key: string) => api.stored.get(key)?.metadata.ownerReferences;
  expect(ownerOf(`${VALIDATING}/a.protect.taintkeeper.dev`)).toEqual([
    { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', name: 'a', uid: 'uid-of-a' },
  ]);
  expect(ownerOf('validatingadmissionpolicybindings/a.protect.taintkeeper.dev')).toEqual([
    expect.objectContaining({ kind: 'ClusterRole', uid: 'role' }),
  ]);
});

it('without an owner of the installation, all of it goes with the policy', async () => {
  const api = nativeApi();
  await controller(api, { ownerClusterRole: undefined }).reconcile();
  const owners = [...api.stored.values()].map(({ metadata }) => metadata.ownerReferences);
  expect(owners).toEqual(Array(4).fill([expect.objectContaining({ kind: 'TaintPolicy' })]));
});

describe('restores what another writer changed:', () => {
  const narrowRule = (spec: Record<string, unknown>, by: object) => {
    const { resourceRules } = spec.matchConstraints as { resourceRules: object[] };
    for (const rule of resourceRules) Object.assign(rule, by);
  };
  type Object = { metadata: { labels?: object }; spec: Record<string, unknown> };
  it.each<{ what: string; key: string; change: (object: Object) => void }>([
    {
      what: 'an expression',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ spec }) => Object.assign(spec, { validations: [{ expression: 'true' }] }),
    },
    {
      what: 'a condition that nothing meets',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ spec }) => Object.assign(spec, { matchConditions: [{ name: 'never', expression: 'false' }] }),
    },
    {
      what: 'a selector that selects nothing',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ spec }) =>
        Object.assign(spec.matchConstraints as object, { objectSelector: { matchLabels: { a: 'b' } } }),
    },
    {
      what: 'a rule for things in namespaces alone, which nodes are not',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ spec }) => narrowRule(spec, { scope: 'Namespaced' }),
    },
    {
      what: 'a rule for one name alone',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ spec }) => narrowRule(spec, { resourceNames: ['nobody'] }),
    },
    {
      what: 'a binding that is narrower',
      key: 'validatingadmissionpolicybindings/a.protect.taintkeeper.dev',
      change: ({ spec }) => Object.assign(spec, { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } }),
    },
    {
      what: 'a binding that only warns',
      key: 'validatingadmissionpolicybindings/a.protect.taintkeeper.dev',
      change: ({ spec }) => Object.assign(spec, { validationActions: ['Warn'] }),
    },
    {
      what: 'the label by which it is found',
      key: `${VALIDATING}/a.protect.taintkeeper.dev`,
      change: ({ metadata }) => Object.assign(metadata, { labels: {} }),
    },
  ])('$what', async ({ key, change }) => {
    const api = nativeApi();
    const { reconcile } = controller(api);
    await reconcile();
    const before = structuredClone(api.stored.get(key));
    change(api.stored.get(key) as unknown as Object);
    await reconcile();
    expect(api.writes.slice(4)).toEqual([`PUT ${key}`]);
    const { labels } = api.stored.get(key)?.metadata ?? {};
    expect({ spec: api.stored.get(key)?.spec, labels }).toEqual({
      spec: before?.spec,
      labels: before?.metadata.labels,
    });
  });

  it("what was added to the policy's own selector", async () => {
    const api = nativeApi();
    const objectSelector = {
      matchLabels: { pool: 'gpu' },
      matchExpressions: [{ key: 'b', operator: 'Exists' as const, values: [] }],
    };
    const [native] = both('a');
    const narrowed = { ...native, spec: { ...native?.spec, matchConstraints: { resourceRules: [], objectSelector } } };
    const { reconcile } = controller(api, { translate: () => ({ policies: [narrowed as NativePolicy], limits: [] }) });
    const key = `${VALIDATING}/a.protect.taintkeeper.dev`;
    const selector = () =>
      (api.stored.get(key) as unknown as Object).spec.matchConstraints as { objectSelector: object };
    await reconcile();
    const before = structuredClone(selector());
    expect(before.objectSelector).toEqual({
      matchExpressions: [
        { key: 'pool', operator: 'In', values: ['gpu'] },
        { key: 'b', operator: 'Exists' },
      ],
    });
    await reconcile();
    expect(api.writes).toHaveLength(2);
    Object.assign(selector().objectSelector, { matchLabels: { never: 'there' } });
    await reconcile();
    expect(selector()).toEqual(before);
  });

  it('but gives way to a writer that does it repeatedly', async () => {
    // The pauses between its repairs must not pass meanwhile.
    stopClock();
    const api = nativeApi();
    const { reconcile } = controller(api);
    await reconcile();
    for (let time = 0; time < 3; time++) {
      const object = api.stored.get(`${VALIDATING}/a.protect.taintkeeper.dev`);
      Object.assign(object?.spec as object, { validations: [] });
      await reconcile();
    }
    expect(api.writes.slice(4)).toHaveLength(1);
  });

  it('but waits if another writer deletes it repeatedly', async () => {
    stopClock();
    const api = nativeApi();
    const { reconcile, conditionOf } = controller(api);
    await reconcile();
    for (let time = 0; time < 3; time++) {
      api.stored.delete(`${VALIDATING}/a.protect.taintkeeper.dev`);
      await reconcile();
    }
    expect(api.writes.slice(4)).toEqual(['POST validatingadmissionpolicies/a.protect.taintkeeper.dev']);
    expect(conditionOf()).toMatchObject({
      reason: 'Conflict',
      message:
        'another writer deletes ValidatingAdmissionPolicy a.protect.taintkeeper.dev: see the audit log of the API server. taintkeeper restores it within a minute',
    });
  });
});

describe('what is not ours', () => {
  it('is neither changed nor removed, and the condition names it', async () => {
    const api = nativeApi();
    const theirs = { metadata: { name: 'a.protect.taintkeeper.dev', uid: 'x', resourceVersion: '1' }, spec: {} };
    api.stored.set(`${VALIDATING}/a.protect.taintkeeper.dev`, theirs);
    const { reconcile, conditionOf } = controller(api);
    await reconcile();
    expect(api.stored.get(`${VALIDATING}/a.protect.taintkeeper.dev`)).toBe(theirs);
    expect(conditionOf()).toMatchObject({
      reason: 'NotOurs',
      message: expect.stringContaining('ValidatingAdmissionPolicy a.protect.taintkeeper.dev exists'),
    });
  });

  it.each(['theirs.example.com', 'exported.protect.taintkeeper.dev'])(
    'stays when it only has our label: %s',
    async (name) => {
      const api = nativeApi();
      const labels = { 'app.kubernetes.io/managed-by': 'taintkeeper' };
      const theirs = { metadata: { name, uid: 'x', resourceVersion: '1', labels }, spec: {} };
      api.stored.set(`${VALIDATING}/${name}`, theirs);
      await controller(api).reconcile();
      expect(api.stored.get(`${VALIDATING}/${name}`)).toBe(theirs);
    },
  );
});

describe('removes what no policy asks for any more: first what puts it in force', () => {
  const removed = [
    'DELETE validatingadmissionpolicybindings/a.protect.taintkeeper.dev',
    'DELETE validatingadmissionpolicies/a.protect.taintkeeper.dev',
    'DELETE mutatingadmissionpolicybindings/a.restore.taintkeeper.dev',
    'DELETE mutatingadmissionpolicies/a.restore.taintkeeper.dev',
  ];
  it.each<{ what: string; now: PolicyObject[] }>([
    { what: 'the policy was deleted', now: [] },
    { what: 'its backstop is None', now: [policy('a', { ...SPEC, backstop: 'None' }, 2)] },
  ])('$what', async ({ now }) => {
    const api = nativeApi();
    const { objects, reconcile } = controller(api);
    await reconcile();
    objects.splice(0, 1, ...now);
    await reconcile();
    expect(api.writes.slice(4)).toEqual(removed);
  });
});

it('tries again soon when what is to be removed has changed meanwhile', async () => {
  const api = nativeApi();
  const { objects, reconcile } = controller(api);
  await reconcile();
  objects.splice(0, 1);
  let conflicts = 1;
  api.refuse = (method, path) => {
    if (method === 'DELETE' && conflicts-- > 0) throw new ApiError(method, path, 409, 'Conflict', 'it has changed');
  };
  expect(await reconcile()).toBeLessThan(1_000);
  await reconcile();
  expect([...api.stored.keys()]).toEqual([]);
});

describe('what is in force stays', () => {
  it.each<{ what: string; now: PolicyObject; refusal?: string }>([
    {
      what: 'while the policy cannot be said natively',
      now: policy('a', SPEC, 2),
      refusal: 'TaintPolicy a: too large',
    },
    {
      what: 'while the policy cannot be read',
      now: policy('a', UNUSABLE, 2),
    },
    {
      what: 'while an earlier generation stays in force',
      now: policy('a', UNUSABLE, 2, policy('a').inForce),
    },
  ])('$what', async ({ now, refusal }) => {
    const api = nativeApi();
    let translated: NativeTranslation = { policies: both('a'), limits: [] };
    const { objects, reconcile } = controller(api, { translate: () => translated });
    await reconcile();
    objects.splice(0, 1, now);
    if (refusal !== undefined) translated = { policies: [], limits: [], refusal };
    await reconcile();
    expect(api.writes).toHaveLength(4);
    expect(api.stored.size).toBe(4);
  });
});

describe('a TolerationRestriction', () => {
  const [native] = both('a');
  const pods = { ...native, name: 'a.authorize-pods.taintkeeper.dev' } as NativePolicy;
  function restriction(): PolicyObject {
    const metadata = { name: 'a', uid: 'uid-of-a', generation: 1, resourceVersion: '1' };
    const spec = { mode: 'Audit', taints: [{ key: 'a' }] };
    return viewPolicy('TolerationRestriction', { ...manifest('TolerationRestriction', 'a', spec), metadata });
  }

  it('is written natively, and removed with the object', async () => {
    const api = nativeApi();
    const { objects, reconcile, conditionOf } = controller(api, {
      translate: () => ({ policies: [pods], limits: [] }),
    });
    objects[0] = restriction();
    await reconcile();
    expect(api.writes).toEqual([
      'POST validatingadmissionpolicies/a.authorize-pods.taintkeeper.dev',
      'POST validatingadmissionpolicybindings/a.authorize-pods.taintkeeper.dev',
    ]);
    expect(conditionOf()).toMatchObject({ status: 'True', reason: 'InForce' });
    objects.length = 0;
    await reconcile();
    expect(api.writes.slice(2)).toEqual([
      'DELETE validatingadmissionpolicybindings/a.authorize-pods.taintkeeper.dev',
      'DELETE validatingadmissionpolicies/a.authorize-pods.taintkeeper.dev',
    ]);
  });

  it('says why it cannot be written natively', async () => {
    const { objects, reconcile, problems } = controller(nativeApi(), {
      translate: () => ({ policies: [], limits: [], refusal: 'TolerationRestriction a: too large' }),
    });
    objects[0] = restriction();
    await reconcile();
    expect(problems()).toEqual([
      {
        kind: 'TolerationRestriction',
        policy: 'a',
        reason: 'NotTranslated',
        message: 'TolerationRestriction a: too large',
      },
    ]);
  });

  it('names the missing permission', async () => {
    const { objects, reconcile, conditionOf } = controller(nativeApi(), { mayWrite: () => false });
    objects[0] = restriction();
    await reconcile();
    expect(conditionOf()).toMatchObject({
      reason: 'NotPermitted',
      message: expect.stringContaining('a TolerationRestriction needs permission to write admission policies'),
    });
  });
});

it('follows the installation when it was applied anew', async () => {
  const api = nativeApi();
  const { reconcile } = controller(api);
  await reconcile();
  api.clusterRoleUid = 'another';
  await reconcile();
  const owners = api.stored.get('validatingadmissionpolicybindings/a.protect.taintkeeper.dev')?.metadata
    .ownerReferences;
  expect(owners).toEqual([expect.objectContaining({ kind: 'ClusterRole', uid: 'another' })]);
});

it('translates only what has changed', async () => {
  const translated: string[] = [];
  const { objects, reconcile } = controller(nativeApi(), {
    translate({ name }) {
      translated.push(name);
      return { policies: both(name), limits: [] };
    },
  });
  await reconcile();
  await reconcile();
  expect(translated).toEqual(['a']);
  objects[0] = policy('a');
  await reconcile();
  expect(translated).toEqual(['a']);
  objects[0] = policy('a', SPEC, 2);
  await reconcile();
  expect(translated).toEqual(['a', 'a']);
});

it('translates one generation again that is read with more fields, because its definition had changed meanwhile', async () => {
  const translated: Policy[] = [];
  const { objects, reconcile } = controller(nativeApi(), {
    translate(one) {
      translated.push(one);
      return { policies: both(one.name), limits: [] };
    },
  });
  await reconcile();
  objects[0] = policy('a', { ...SPEC, exempt: { users: ['admin'] } });
  await reconcile();
  expect(translated).toMatchObject([{ spec: SPEC }, { spec: { exempt: { users: ['admin'] } } }]);
});

describe('the condition', () => {
  it('is there only where the policy asks for native policies', async () => {
    const { objects, reconcile, conditionOf } = controller(nativeApi());
    objects[0] = policy('a', { ...SPEC, backstop: 'None' });
    await reconcile();
    expect(conditionOf()).toBeUndefined();
  });

  it('says what the API server says of the types in an expression', async () => {
    const api = nativeApi();
    const { reconcile, conditionOf, problems } = controller(api);
    await reconcile();
    expect(problems()).toEqual([]);
    const expressionWarnings = [
      { fieldRef: 'spec.validations[0].expression', warning: "ERROR: undefined field 'x'\n | x" },
    ];
    const object = api.stored.get(`${VALIDATING}/a.protect.taintkeeper.dev`);
    const status = { observedGeneration: object?.metadata.generation, typeChecking: { expressionWarnings } };
    Object.assign(object as object, { status });
    await reconcile();
    expect(conditionOf()).toMatchObject({
      status: 'False',
      reason: 'TypeChecking',
      message: expect.stringContaining("spec.validations[0].expression: ERROR: undefined field 'x'. That"),
    });
    Object.assign(status, { typeChecking: {} });
    expect(await reconcile()).toBe(10_000);
    expect(conditionOf()).toMatchObject({ message: expect.not.stringContaining('not yet') });
  });

  it.each<{
    what: string;
    served: Record<string, string[]>;
    options?: Setting;
    reason: string;
    said: string;
  }>([
    { what: 'an old API server', served: { v1: [], v1beta1: ['validating'] }, reason: 'Unsupported', said: '1.30' },
    {
      what: 'a policy that is too expensive',
      served: { v1: ['validating'] },
      options: { translate: () => ({ policies: [], limits: [], refusal: 'TaintPolicy a: too large' }) },
      reason: 'NotTranslated',
      said: 'TaintPolicy a: too large',
    },
    {
      what: 'a policy of which nothing can be said',
      served: { v1: ['validating'] },
      options: { translate: () => ({ policies: [], limits: [{ field: 'spec.mode', message: 'no mutation' }] }) },
      reason: 'NothingNative',
      said: 'spec.mode: no mutation; remove backstop: Native, or change these fields',
    },
    {
      what: 'native policies that taintkeeper may not write',
      served: { v1: ['mutating', 'validating'] },
      options: { mayWrite: () => false },
      reason: 'NotPermitted',
      said: "set nativePolicies: true in the chart's values, or run the commands that taintkeeper doctor prints",
    },
  ])('is False with $what', async ({ served, options, reason, said }) => {
    const api = nativeApi(served);
    const { reconcile, conditionOf, problems } = controller(api, options);
    await reconcile();
    expect(api.writes).toEqual([]);
    expect(problems()).toEqual([
      { kind: 'TaintPolicy', policy: 'a', reason: 'BackstopNotInForce', message: expect.stringContaining(said) },
    ]);
    expect(conditionOf()).toMatchObject({ status: 'False', reason, message: expect.stringContaining(said) });
  });

  it('is False where the API server does not let us write, and the others are written', async () => {
    const api = nativeApi();
    const { objects, reconcile, conditionOf } = controller(api);
    objects.push(policy('b'));
    let first = true;
    api.refuse = (method, path) => {
      if (method !== 'POST' || !first) return;
      first = false;
      forbidden(method, path);
    };
    await expect(reconcile()).rejects.toThrow('not you');
    expect(conditionOf(0)).toMatchObject({ status: 'False', reason: 'Forbidden' });
    expect(conditionOf(1)).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  it('is False once the API server denies every request of the leader', async () => {
    const api = nativeApi();
    const { reconcile, conditionOf } = controller(api);
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'True' });
    api.refuse = forbidden;
    await expect(reconcile()).rejects.toThrow('not you');
    expect(conditionOf()).toMatchObject({ status: 'False', reason: 'Forbidden' });
  });

  it('is False where the leader may not read native policies', async () => {
    const api = nativeApi();
    api.refuse = (method, path) => {
      if (path.endsWith('policies')) forbidden(method, path);
    };
    const { objects, reconcile, conditionOf } = controller(api);
    await expect(reconcile()).rejects.toThrow('not you');
    expect(conditionOf()).toMatchObject({ status: 'False', reason: 'Forbidden' });
    // Nothing is amiss once no policy asks for any.
    objects.pop();
    await expect(reconcile()).resolves.toBeUndefined();
  });
});

describe('InForce says what the API server has stored', () => {
  const POLICY = `${VALIDATING}/a.protect.taintkeeper.dev`;
  const BINDING = 'validatingadmissionpolicybindings/a.protect.taintkeeper.dev';
  type Change = (object: { metadata: Record<string, unknown>; spec: object }) => void;
  const narrowPolicy: Change = ({ spec }) => Object.assign(spec, { validations: [] });
  const changeIn = (api: NativeApi, key: string, change: Change) =>
    change(api.stored.get(key) as unknown as Parameters<Change>[0]);

  it.each<{ why: string; key: string; change: Change; status: string; said?: string }>([
    {
      why: 'an expression decides less',
      key: POLICY,
      change: narrowPolicy,
      status: 'False',
      said: 'another writer changes ValidatingAdmissionPolicy a.protect.taintkeeper.dev: see its managedFields',
    },
    {
      why: 'a binding selects less',
      key: BINDING,
      change: ({ spec }) => Object.assign(spec, { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } }),
      status: 'False',
      said: 'another writer changes ValidatingAdmissionPolicyBinding a.protect.taintkeeper.dev: see its managedFields',
    },
    {
      why: 'labels do not change what the API server decides',
      key: POLICY,
      change: ({ metadata }) => Object.assign(metadata, { labels: {} }),
      status: 'True',
    },
  ])('while the limit of repairs waits: $why', async ({ key, change, status, said = '' }) => {
    stopClock();
    const api = nativeApi();
    const { reconcile, conditionOf, problems } = controller(api);
    await reconcile();
    for (let time = 0; time < 3; time++) {
      changeIn(api, key, change);
      await reconcile();
    }
    const reason = status === 'True' ? 'InForce' : 'Conflict';
    expect(conditionOf()).toMatchObject({ status, reason, message: expect.stringContaining(said) });
    expect(problems()).toHaveLength(status === 'True' ? 0 : 1);
    // The longest pause of repairs.
    vi.advanceTimersByTime(60_000);
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  it('a policy whose repairs are undone again and again is not in force, also just after a repair', async () => {
    stopClock();
    const api = nativeApi();
    const { reconcile, conditionOf, problems } = controller(api);
    await reconcile();
    const repairs = () => api.writes.filter((one) => one === `PUT ${POLICY}`).length;
    while (repairs() < 5) {
      changeIn(api, POLICY, narrowPolicy);
      vi.advanceTimersByTime(60_000);
      await reconcile();
    }
    expect(problems()).toEqual([]);
    changeIn(api, POLICY, narrowPolicy);
    await reconcile();
    vi.advanceTimersByTime(60_000);
    await reconcile();
    expect(repairs()).toBe(6);
    expect(conditionOf()).toMatchObject({
      ...{ status: 'False', reason: 'Conflict' },
      message: expect.stringContaining('another writer changes ValidatingAdmissionPolicy a.protect.taintkeeper.dev'),
    });
    expect(problems()).toHaveLength(1);
    vi.advanceTimersByTime(121_000);
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  it('after a conflict it is read anew, and until then it is not in force', async () => {
    const api = nativeApi();
    const { reconcile, conditionOf } = controller(api);
    await reconcile();
    changeIn(api, POLICY, narrowPolicy);
    let conflicts = 1;
    api.refuse = (method, path) => {
      if (method === 'PUT' && conflicts-- > 0) throw new ApiError(method, path, 409, 'Conflict', 'it has changed');
    };
    expect(await reconcile()).toBeLessThan(1_000);
    expect(conditionOf()).toMatchObject({ status: 'False', reason: 'Conflict' });
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  it('what was deleted before a write is not in force, also where only its labels differed', async () => {
    const api = nativeApi();
    const { reconcile, conditionOf } = controller(api);
    await reconcile();
    changeIn(api, BINDING, ({ metadata }) => Object.assign(metadata, { ownerReferences: [{ kind: 'ClusterRole' }] }));
    api.refuse = (method) => {
      if (method === 'PUT') api.stored.delete(BINDING);
    };
    expect(await reconcile()).toBeLessThan(1_000);
    expect(conditionOf()).toMatchObject({ status: 'False', reason: 'Conflict' });
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  it('what an admission plugin changes as it is written is not in force', async () => {
    const api = nativeApi();
    const { reconcile, conditionOf } = controller(api);
    const request = api.client.request.bind(api.client);
    api.client.request = async <T>(...[method, path, options]: Parameters<typeof request>) => {
      const answer = await request<T>(method, path, options);
      if (method === 'POST' && path.endsWith(VALIDATING)) changeIn(api, POLICY, narrowPolicy);
      return answer;
    };
    await reconcile();
    expect(conditionOf()).toMatchObject({ status: 'False', reason: 'Conflict' });
  });

  const refused = (method: string, path: string) => new ApiError(method, path, 403, 'Forbidden', 'no');
  const unavailable = (method: string, path: string) => new ApiError(method, path, 500, 'InternalError', 'no');
  it.each<{ why: string; fail: (method: string, path: string) => unknown; reason: string }>([
    { why: 'is refused', fail: refused, reason: 'Forbidden' },
    { why: 'fails', fail: unavailable, reason: 'Refused' },
    { why: 'gets no answer', fail: () => new Error('no answer'), reason: 'Refused' },
  ])('where a repair $why, only what another writer has changed is not in force', async ({ fail, reason }) => {
    const api = nativeApi();
    const { objects, reconcile, conditionOf } = controller(api);
    objects.push(policy('b'), policy('c'));
    await reconcile();
    changeIn(api, POLICY, narrowPolicy);
    changeIn(api, `${VALIDATING}/b.protect.taintkeeper.dev`, ({ metadata }) =>
      Object.assign(metadata, { ownerReferences: [{ ...(metadata.ownerReferences as object[])[0], name: 'x' }] }),
    );
    api.refuse = (method, path) => {
      if (method === 'PUT') throw fail(method, path);
    };
    await expect(reconcile()).rejects.toThrow('no');
    expect([conditionOf(0), conditionOf(1), conditionOf(2)]).toMatchObject([
      { status: 'False', reason, message: expect.stringContaining('no') },
      { status: 'True', reason: 'InForce' },
      { status: 'True', reason: 'InForce' },
    ]);
  });

  it('after a write without an answer, nothing more is written in the run', async () => {
    const api = nativeApi();
    const { objects, reconcile, conditionOf } = controller(api);
    objects.push(policy('b'));
    let asked = 0;
    api.refuse = (method) => {
      if (method !== 'POST') return;
      asked++;
      throw new Error('no answer');
    };
    await expect(reconcile()).rejects.toThrow('no answer');
    expect(asked).toBe(1);
    expect([conditionOf(0), conditionOf(1)]).toMatchObject(Array(2).fill({ status: 'False', reason: 'Refused' }));
  });

  const IN_FORCE = { status: 'True', reason: 'InForce' };
  const REFUSED = { status: 'False', reason: 'Refused', message: expect.stringContaining('no') };
  const FORBIDDEN = { status: 'False', reason: 'Forbidden' };
  it.each<{ why: string; fails: RegExp; fault: (method: string, path: string) => unknown; found: object[] }>([
    { why: 'the list fails', fails: /policies$/, fault: unavailable, found: [IN_FORCE, REFUSED] },
    {
      why: 'the list gets no answer',
      fails: /bindings$/,
      fault: () => new Error('no answer'),
      found: [IN_FORCE, REFUSED],
    },
    { why: 'discovery fails', fails: /\/v1$/, fault: unavailable, found: [IN_FORCE, REFUSED] },
    { why: 'the owner cannot be read', fails: /clusterroles/, fault: unavailable, found: [IN_FORCE, REFUSED] },
    {
      why: 'the list is refused, so the leader cannot know what stands',
      fails: /policies$/,
      fault: refused,
      found: [FORBIDDEN, FORBIDDEN],
    },
  ])('of two policies, one is edited, and $why', async ({ fails, fault, found }) => {
    const api = nativeApi();
    const { objects, reconcile, conditionOf } = controller(api);
    objects.push(policy('b'));
    await reconcile();
    objects[1] = policy('b', SPEC, 2);
    api.refuse = (method, path) => {
      if (fails.test(path)) throw fault(method, path);
    };
    await expect(reconcile()).rejects.toThrow('no');
    expect([conditionOf(0), conditionOf(1)]).toMatchObject(found);
    api.refuse = () => {};
    await reconcile();
    expect([conditionOf(0), conditionOf(1)]).toMatchObject([IN_FORCE, IN_FORCE]);
  });
});

describe('once native policies may not be written any more', () => {
  const start = async () => {
    const api = nativeApi();
    let may: boolean | undefined = true;
    const cluster = controller(api, { mayWrite: () => may });
    await cluster.reconcile();
    return {
      ...cluster,
      api,
      permit(next: boolean | undefined) {
        may = next;
        return cluster.reconcile();
      },
    };
  };
  const left = {
    status: 'False',
    reason: 'LeftInForce',
    message: expect.stringMatching(
      /^taintkeeper may no longer write native policies\. These stay in force as last written, whatever changes in the TaintPolicy: a\.\w+\.taintkeeper\.dev, a\.\w+\.taintkeeper\.dev\. To let taintkeeper update or remove them: .*nativePolicies: true/,
    ),
  };

  it('the condition names what is in force and the command to delete it, and the leader deletes nothing', async () => {
    const { permit, conditionOf, problems, api } = await start();
    expect(await permit(false)).toBe(10_000);
    expect(conditionOf()).toMatchObject(left);
    const [, command] = /(kubectl delete .*)$/.exec((conditionOf() as { message: string }).message) ?? [];
    expect(command).toBe(
      'kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies,mutatingadmissionpolicybindings,mutatingadmissionpolicies -l app.kubernetes.io/managed-by=taintkeeper',
    );
    expect(problems()).toMatchObject([{ policy: 'a', reason: 'BackstopNotInForce' }]);
    expect(api.writes).toHaveLength(4);
  });

  it('so also where the policy asks for it no more', async () => {
    const { permit, conditionOf, objects } = await start();
    objects[0] = policy('a', { ...SPEC, backstop: 'None' }, 2);
    await permit(false);
    expect(conditionOf()).toMatchObject(left);
  });

  it('what was deleted by hand is not told of any more', async () => {
    const { permit, conditionOf, objects, api } = await start();
    await permit(false);
    for (const key of [...api.stored.keys()]) if (key.includes('bindings/')) api.stored.delete(key);
    await permit(false);
    expect(conditionOf()).toMatchObject({ reason: 'NotPermitted' });
    objects[0] = policy('a', { ...SPEC, backstop: 'None' }, 2);
    await permit(false);
    expect(conditionOf()).toBeUndefined();
  });

  it('what was deleted by hand with its policy is not told of any more, where the policy asks for it no more', async () => {
    const { permit, conditionOf, problems, objects, api } = await start();
    objects[0] = policy('a', { ...SPEC, backstop: 'None' }, 2);
    await permit(false);
    expect(conditionOf()).toMatchObject(left);
    api.stored.clear();
    await permit(false);
    expect([conditionOf(), problems()]).toEqual([undefined, []]);
  });

  it('it is followed again, or removed, once they may', async () => {
    const { permit, conditionOf, objects, api } = await start();
    await permit(false);
    await permit(true);
    expect(conditionOf()).toMatchObject({ reason: 'InForce' });
    objects[0] = policy('a', { ...SPEC, backstop: 'None' }, 2);
    await permit(false);
    await permit(true);
    expect(api.stored.size).toBe(0);
    expect(conditionOf()).toBeUndefined();
  });
});

it('nothing is said, and nothing tried, before it is known whether native policies may be written', async () => {
  const api = nativeApi();
  const { reconcile, conditionOf } = controller(api, { mayWrite: () => undefined });
  expect(await reconcile()).toBeUndefined();
  expect(conditionOf()).toBe('pending');
  expect(api.writes).toEqual([]);
});

it.each([
  { served: { v1: ['mutating', 'validating'], v1beta1: ['mutating'] }, version: 'v1' },
  { served: { v1: ['validating'], v1beta1: ['mutating'] }, version: 'v1beta1' },
  { served: { v1: ['validating'] }, version: undefined },
])('writes mutation in version $version where that is the newest that is served', async ({ served, version }) => {
  const mutates: boolean[] = [];
  const api = nativeApi(served);
  await controller(api, {
    translate({ name }, options) {
      mutates.push(options.mutates);
      return {
        policies: both(name).filter(({ kind }) => options.mutates || kind !== 'MutatingAdmissionPolicy'),
        limits: [],
      };
    },
  }).reconcile();
  const written = api.stored.get('mutatingadmissionpolicies/a.restore.taintkeeper.dev');
  expect(mutates).toEqual([version !== undefined]);
  expect(written?.apiVersion).toBe(version && `admissionregistration.k8s.io/${version}`);
});

it('with --audit, what is translated is the policy in mode Audit, among policies in mode Audit', async () => {
  const seen: unknown[] = [];
  await controller(nativeApi(), {
    audit: true,
    translate(one, { among }) {
      seen.push(one.spec.mode, ...among.map(({ spec }) => spec.mode));
      return { policies: [], limits: [] };
    },
  }).reconcile();
  expect(seen).toEqual(['Audit', 'Audit']);
});

it("leaves taintkeeper's own namespace out, also of those that the policy names", async () => {
  const api = nativeApi();
  const named = { key: 'kubernetes.io/metadata.name', operator: 'In' as const, values: ['kube-system', 'taintkeeper'] };
  const policies = both('a').map((native) => ({
    ...native,
    spec: { ...native.spec, matchConstraints: { resourceRules: [], namespaceSelector: { matchExpressions: [named] } } },
  })) as NativePolicy[];
  await controller(api, { translate: () => ({ policies, limits: [] }) }).reconcile();
  const spec = api.stored.get('mutatingadmissionpolicies/a.restore.taintkeeper.dev')?.spec as {
    matchConstraints: { namespaceSelector: unknown };
  };
  expect(spec.matchConstraints.namespaceSelector).toEqual({
    matchExpressions: [named, { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['taintkeeper'] }],
  });
});

it("leaves taintkeeper's own namespace out", async () => {
  const api = nativeApi();
  await controller(api).reconcile();
  const spec = api.stored.get('mutatingadmissionpolicies/a.restore.taintkeeper.dev')?.spec as {
    matchConstraints: { namespaceSelector: unknown };
  };
  expect(spec.matchConstraints.namespaceSelector).toEqual({
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['taintkeeper'] }],
  });
});
