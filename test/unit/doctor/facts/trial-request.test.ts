import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { readRefusal, sendTrial } from '../../../../src/doctor/facts/send-trial.ts';
import { findTrial, type TrialMaterial } from '../../../../src/doctor/facts/trial.ts';
import { type Policy, parsePolicy } from '../../../../src/policy/policy.ts';
import { answer, clientFor, startFakeApi } from '../../cluster/client/fake-api.ts';

function policy(kind: string, spec: object, name = 'p') {
  const parsed = parsePolicy({ apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.policy;
}

const taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const denies = policy('TaintPolicy', {
  mode: 'Deny',
  taints: [{ key: 'dedicated' }],
  exempt: { users: ['exempt'] },
});
const audits = policy('TaintPolicy', { mode: 'Audit', taints: [{ key: 'dedicated' }] });
const tolerates = (namespaces: string[], names?: string[]) =>
  policy('TolerationPolicy', { mode: 'Mutate', daemonSets: { namespaces, ...(names ? { names } : {}) } });
const nodes = [{ metadata: { name: 'plain' } }, { metadata: { name: 'gpu-1' }, spec: { taints: [taint] } }];

const material = (changes: Partial<TrialMaterial>): TrialMaterial => ({
  policies: [denies],
  nodes,
  requester: { username: 'admin', groups: [] },
  namespace: 'taintkeeper',
  ...changes,
});

describe('the trial', () => {
  it('is a node that loses a protected taint', () => {
    const trial = findTrial(material({}));
    expect(trial).toMatchObject({
      what: 'removing the taints of node gpu-1',
      method: 'PATCH',
      path: '/api/v1/nodes/gpu-1',
    });
    expect(trial?.shows({ ...nodes[1] })).toBe(true);
    expect(trial?.shows({ metadata: {}, spec: {} })).toBe(false);
  });

  it('is the same for a user who is exempt, of a required taint: then the annotation of the answer shows that the webhook was called', () => {
    const requires = policy('TaintPolicy', {
      mode: 'Deny',
      taints: [{ ...taint, ensure: 'Always' }],
      exempt: { users: ['exempt'] },
    });
    const requester = { username: 'exempt', groups: [] };
    const trial = findTrial(material({ policies: [requires], nodes: nodes.slice(1), requester }));
    const annotations = { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' };
    expect(trial).toMatchObject({ path: '/api/v1/nodes/gpu-1' });
    expect(trial?.shows({ metadata: { annotations }, spec: {} })).toBe(true);
    expect(trial?.shows({ metadata: {}, spec: {} })).toBe(false);
  });

  it('is a DaemonSet, where no node will do', () => {
    const trial = findTrial(
      material({ policies: [audits, tolerates(['kube-*', 'taintkeeper', 'cilium'], ['cilium'])] }),
    );
    expect(trial).toMatchObject({
      what: 'creating DaemonSet cilium/cilium',
      method: 'POST',
      path: '/apis/apps/v1/namespaces/cilium/daemonsets',
    });
    expect(trial?.shows(trial.body)).toBe(false);
  });

  it.each([
    { why: 'the policies only audit', changes: { policies: [audits] } },
    { why: 'no node has the taint', changes: { nodes: nodes.slice(0, 1) } },
    { why: 'the only namespace is our own', changes: { policies: [tolerates(['taintkeeper'])] } },
    { why: 'no namespace is known', changes: { policies: [tolerates(['*'])] } },
  ])('does not exist where $why', ({ changes }) => {
    expect(findTrial(material(changes))).toBeUndefined();
  });
});

describe('a request that native policies decide', () => {
  const restores = (name: string, key: string, spec: object = {}) =>
    policy('TaintPolicy', { mode: 'Restore', taints: [{ key }], ...spec }, name);
  const native = restores('native', 'dedicated', { backstop: 'Native' });
  const edge = { metadata: { name: 'edge-1' }, spec: { taints: [{ key: 'edge', effect: 'NoSchedule' }] } };

  it('is the last choice', () => {
    const policies = [native, restores('edge', 'edge')];
    expect(findTrial(material({ policies, nodes: [...nodes, edge] }))).toMatchObject({
      what: 'removing the taints of node edge-1',
      isNative: false,
    });
    expect(findTrial(material({ policies: [native, tolerates(['cilium'])] }))).toMatchObject({
      what: 'creating DaemonSet cilium/taintkeeper-doctor-trial',
      isNative: false,
    });
    expect(findTrial(material({ policies: [native] }))).toMatchObject({
      what: 'removing the taints of node gpu-1',
      isNative: true,
    });
  });

  const WARNING = '299 - "TaintPolicy native restored taint dedicated=gpu:NoSchedule"';
  const NATIVE_WARNING =
    "299 - \"Validation failed for ValidatingAdmissionPolicy 'a' with binding 'a': TaintPolicy native: taint removed\"";

  /** What the API server of Kubernetes 1.36 serves by default, and that of 1.35. */
  const MUTATES = ['validatingadmissionpolicies', 'mutatingadmissionpolicies'];
  const REFUSES_ONLY = ['validatingadmissionpolicies'];
  const requires = policy('TaintPolicy', {
    mode: 'Deny',
    backstop: 'Native',
    taints: [{ ...taint, ensure: 'Always' }],
    exempt: { users: ['exempt'] },
  });
  const adds = policy('TolerationPolicy', {
    mode: 'Mutate',
    backstop: 'Native',
    daemonSets: { namespaces: ['cilium'] },
  });
  const entered = {
    metadata: { name: 'gpu-1', annotations: { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' } },
    spec: {},
  };
  const tolerating = { spec: { template: { spec: { tolerations: [{ operator: 'Exists' }] } } } };

  it.each<{
    why: string;
    policies: Policy[];
    changed?: object;
    warning?: string;
    serves?: string[];
    outcome: string;
  }>([
    { why: 'the native policy has restored the taint', policies: [native], outcome: 'answered natively' },
    {
      why: 'a warning is of a native policy',
      policies: [native],
      warning: NATIVE_WARNING,
      outcome: 'answered natively',
    },
    { why: 'the webhook has warned', policies: [native], warning: WARNING, outcome: 'answered' },
    { why: 'no policy is native', policies: [restores('a', 'dedicated')], outcome: 'answered' },
    {
      why: 'the taint was removed',
      policies: [native],
      changed: { metadata: { name: 'gpu-1' }, spec: { taints: [] } },
      outcome: 'passed',
    },
    { why: 'an exempt user gets an entry', policies: [requires], changed: entered, outcome: 'answered natively' },
    {
      why: 'an exempt user gets an entry, and the API server has no MutatingAdmissionPolicy',
      policies: [requires],
      changed: entered,
      serves: REFUSES_ONLY,
      outcome: 'answered',
    },
    { why: 'a DaemonSet gets tolerations', policies: [adds], changed: tolerating, outcome: 'answered natively' },
    {
      why: 'a DaemonSet gets tolerations, and the API server has no MutatingAdmissionPolicy',
      policies: [adds],
      changed: tolerating,
      serves: REFUSES_ONLY,
      outcome: 'answered',
    },
  ])('is $outcome where $why', async ({ policies, warning, changed, serves = MUTATES, outcome }) => {
    const isExempt = policies.includes(requires);
    const requester = { username: isExempt ? 'exempt' : 'admin', groups: [] };
    const trial = findTrial(material({ policies, requester }));
    const api = await startFakeApi(({ path }, response) => {
      const [, version] = /^\/apis\/admissionregistration\.k8s\.io\/(.*)/.exec(path) ?? [];
      if (version) return answer(response, { resources: (version === 'v1' ? serves : []).map((name) => ({ name })) });
      if (warning !== undefined) response.setHeader('warning', warning);
      answer(response, changed ?? { metadata: { name: 'gpu-1' }, spec: { taints: [taint] } });
    });
    const { client } = await clientFor(api.url);
    expect(trial && (await sendTrial(client, trial))).toMatchObject({ ok: true, value: { outcome } });
  });
});

describe('a refusal', () => {
  const refusal = (status: number, message: string) =>
    readRefusal(new ApiError('PATCH', '/api/v1/nodes/gpu-1', status, '', message), 'x');

  it.each([
    {
      why: 'ours says no: it was asked',
      found: refusal(403, 'admission webhook "protect.taintkeeper.dev" denied the request: node gpu-1: removing …'),
      is: { ok: true, value: { outcome: 'answered' } },
    },
    {
      why: 'another webhook denies the request',
      found: refusal(403, 'admission webhook "validate.kyverno.svc-fail" denied the request: no'),
      is: { ok: false, why: expect.stringContaining('validate.kyverno.svc-fail, which is not') },
    },
    {
      why: 'a native policy of ours says no',
      found: refusal(
        422,
        "nodes \"gpu-1\" is forbidden: ValidatingAdmissionPolicy 'gpu.protect.taintkeeper.dev' with binding 'gpu.protect.taintkeeper.dev' denied request: node gpu-1: removing …",
      ),
      is: { ok: true, value: { outcome: 'answered natively', policy: 'gpu.protect.taintkeeper.dev' } },
    },
    {
      why: 'a ValidatingAdmissionPolicy that is not ours denies the request',
      found: refusal(422, "ValidatingAdmissionPolicy 'others' with binding 'others' denied request: no"),
      is: { ok: false, why: expect.stringContaining('ValidatingAdmissionPolicy others, which is not') },
    },
    {
      why: 'the API server cannot call our webhook',
      found: refusal(
        500,
        'Internal error occurred: failed calling webhook "protect.taintkeeper.dev": failed to call webhook: Post "https://taintkeeper.taintkeeper.svc:443/validate?timeout=2s": dial tcp 10.0.0.9:443: connect: connection refused',
      ),
      is: {
        ok: true,
        value: {
          outcome: 'failed',
          webhook: 'protect.taintkeeper.dev',
          fault: { kind: 'refused', message: 'dial tcp 10.0.0.9:443: connect: connection refused' },
        },
      },
    },
    {
      why: 'of RBAC',
      found: refusal(403, 'nodes "gpu-1" is forbidden: User "x" cannot patch resource "nodes" in API group ""'),
      is: { ok: false, why: 'you may not patch resource "nodes" in API group ""' },
    },
  ])('$why', ({ found, is }) => {
    expect(found).toMatchObject(is);
  });
});
