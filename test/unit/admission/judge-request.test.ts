import { describe, expect, it } from 'vitest';
import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { policySet } from '../policy/policies.ts';
import { daemonSetRequest, nodeRequest } from './requests.ts';

const policies = policySet({
  taint: {
    r: {
      mode: 'Restore',
      taints: [{ key: 'dedicated' }],
      exempt: { users: ['owner'] },
    },
    present: {
      mode: 'Restore',
      taints: [{ key: 'pool', value: 'a', effect: 'NoSchedule', ensure: 'Always' }],
      exempt: { users: ['owner'] },
    },
  },
  toleration: { cni: { mode: 'Mutate', daemonSets: { namespaces: ['kube-system'] } } },
});

const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const pool = { key: 'pool', value: 'a', effect: 'NoSchedule' };
const node = (spec: unknown, annotations?: Record<string, string>) => ({
  metadata: { name: 'n1', ...(annotations ? { annotations } : {}) },
  spec,
});
const daemonSet = (podSpec: unknown) => ({
  metadata: { name: 'cni', labels: {} },
  spec: { template: { spec: podSpec } },
});

const MASTER = { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' };
const CONTROL_PLANE = { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' };
const ALLOW_REMOVAL = 'taintkeeper.dev/allow-removal';
const OWNER = { username: 'owner', groups: [] };
const POOL = 'pool=a:NoSchedule';

describe('the patch has the fewest operations', () => {
  it.each<{ why: string; request: AdmissionRequest; patch: object[] }>([
    {
      why: 'a removed list is added whole',
      request: nodeRequest({ object: node({ podCIDR: 'x' }), oldObject: node({ taints: [gpu] }) }),
      patch: [{ op: 'add', path: '/spec/taints', value: [gpu] }],
    },
    {
      why: 'a list that is null is replaced',
      request: nodeRequest({ object: node({ taints: null }), oldObject: node({ taints: [gpu] }) }),
      patch: [{ op: 'replace', path: '/spec/taints', value: [gpu] }],
    },
    {
      why: 'a removed spec is added',
      request: nodeRequest({ object: { metadata: { name: 'n1' } }, oldObject: node({ taints: [gpu] }) }),
      patch: [{ op: 'add', path: '/spec', value: { taints: [gpu] } }],
    },
    {
      why: 'a spec that is null is replaced',
      request: nodeRequest({ object: node(null), oldObject: node({ taints: [gpu] }) }),
      patch: [{ op: 'replace', path: '/spec', value: { taints: [gpu] } }],
    },
    {
      why: 'a taint is appended',
      request: nodeRequest({ object: node({ taints: [pool] }), oldObject: node({ taints: [gpu, pool] }) }),
      patch: [{ op: 'add', path: '/spec/taints/1', value: gpu }],
    },
    {
      why: 'a value is put back, with its taint',
      request: nodeRequest({
        object: node({ taints: [pool, { ...gpu, value: 'cpu' }] }),
        oldObject: node({ taints: [gpu, pool] }),
      }),
      patch: [{ op: 'replace', path: '/spec/taints/1', value: gpu }],
    },
    {
      why: 'a required taint is added on creation',
      request: nodeRequest({ object: node({ taints: [gpu] }) }),
      patch: [{ op: 'add', path: '/spec/taints/1', value: pool }],
    },
    {
      why: "an exempt user's removal of a required taint gets an entry, where there are no annotations",
      request: nodeRequest({ object: node({}), oldObject: node({ taints: [pool] }), user: OWNER }),
      patch: [{ op: 'add', path: '/metadata/annotations', value: { [ALLOW_REMOVAL]: POOL } }],
    },
    {
      why: 'beside other annotations',
      request: nodeRequest({
        object: node({}, { other: 'x' }),
        oldObject: node({ taints: [pool] }, { other: 'x' }),
        user: OWNER,
      }),
      patch: [{ op: 'add', path: '/metadata/annotations/taintkeeper.dev~1allow-removal', value: POOL }],
    },
    {
      why: 'where the annotations are null',
      request: nodeRequest({
        object: { metadata: { name: 'n1', annotations: null }, spec: {} },
        oldObject: node({ taints: [pool] }),
        user: OWNER,
      }),
      patch: [{ op: 'add', path: '/metadata/annotations', value: { [ALLOW_REMOVAL]: POOL } }],
    },
    {
      why: 'and beside other entries',
      request: nodeRequest({
        object: node({}, { [ALLOW_REMOVAL]: 'other:NoExecute' }),
        oldObject: node({ taints: [pool] }, { [ALLOW_REMOVAL]: 'other:NoExecute' }),
        user: OWNER,
      }),
      patch: [
        {
          op: 'add',
          path: '/metadata/annotations/taintkeeper.dev~1allow-removal',
          value: `other:NoExecute,${POOL}`,
        },
      ],
    },
    {
      why: 'an entry is deleted when its taint is added, and only that',
      request: nodeRequest({
        object: node({ taints: [gpu] }, { [ALLOW_REMOVAL]: 'dedicated=gpu:NoSchedule', other: 'x' }),
        oldObject: node({}, { [ALLOW_REMOVAL]: 'dedicated=gpu:NoSchedule' }),
      }),
      patch: [{ op: 'remove', path: '/metadata/annotations/taintkeeper.dev~1allow-removal' }],
    },
    {
      why: 'tolerations are appended',
      request: daemonSetRequest({ object: daemonSet({ tolerations: [MASTER] }) }),
      patch: [{ op: 'add', path: '/spec/template/spec/tolerations/1', value: CONTROL_PLANE }],
    },
    {
      why: 'a list of tolerations is added whole',
      request: daemonSetRequest({ object: daemonSet({ containers: [] }) }),
      patch: [{ op: 'add', path: '/spec/template/spec/tolerations', value: [MASTER, CONTROL_PLANE] }],
    },
    {
      why: 'a list of tolerations that is null is replaced',
      request: daemonSetRequest({ object: daemonSet({ tolerations: null }) }),
      patch: [{ op: 'replace', path: '/spec/template/spec/tolerations', value: [MASTER, CONTROL_PLANE] }],
    },
  ])('$why', ({ request, patch }) => {
    const before = structuredClone(request);
    expect(judgeRequest(request, 'mutate', policies).patch).toEqual(patch);
    expect(request).toEqual(before);
  });
});

describe('a request to which no policy applies is allowed unchanged', () => {
  const removing = nodeRequest({ object: node({}), oldObject: node({ taints: [gpu] }) });
  it.each<[why: string, request: AdmissionRequest]>([
    ['nodes/status', { ...removing, subResource: 'status' }],
    ['DELETE', { ...removing, operation: 'DELETE', object: null }],
    ['CONNECT', { ...removing, operation: 'CONNECT', subResource: 'proxy', object: 'anything' }],
    [
      'nodes of another group',
      { ...removing, resource: { group: 'metrics.k8s.io', version: 'v1beta1', resource: 'nodes' } },
    ],
    [
      'daemonsets of another group',
      { ...daemonSetRequest({ object: 5 }), resource: { group: 'x.io', version: 'v1', resource: 'daemonsets' } },
    ],
    ['pods', { ...removing, resource: { group: '', version: 'v1', resource: 'pods' }, object: 'anything' }],
  ])('%s', (_why, request) => {
    for (const phase of ['mutate', 'validate'] as const) {
      expect(judgeRequest(request, phase, policies)).toMatchObject({
        kind: undefined,
        patch: [],
        decision: { action: 'allow', violations: [] },
      });
    }
  });
});

describe('an object that is not of the kind of its resource', () => {
  const good = node({ taints: [gpu] });
  it.each<[why: string, request: AdmissionRequest, message: string]>([
    ['no object', nodeRequest({ object: null }), 'request.object: expected a map, got null'],
    [
      'no old object',
      { ...nodeRequest({ object: good }), operation: 'UPDATE' },
      'request.oldObject: expected a map, got null',
    ],
    ['no metadata', nodeRequest({ object: {} }), 'request.object: metadata is missing'],
    [
      'taints that are no list',
      nodeRequest({ object: node({ taints: 'x' }) }),
      'request.object.spec.taints: expected a list, got "x"',
    ],
    [
      'a taint that is null',
      nodeRequest({ object: node({ taints: [gpu, null] }) }),
      'request.object.spec.taints[1]: expected a map, got null',
    ],
    [
      'a taint without a key',
      nodeRequest({ object: node({ taints: [{ effect: 'NoSchedule' }] }) }),
      'request.object.spec.taints[0]: key is missing',
    ],
    [
      'a taint without an effect, in the old object',
      nodeRequest({ object: good, oldObject: node({ taints: [{ key: 'a' }] }) }),
      'request.oldObject.spec.taints[0]: effect is missing',
    ],
    [
      'labels that are numbers',
      nodeRequest({ object: { metadata: { labels: { a: 5 } } } }),
      'request.object.metadata.labels.a: expected a string, got 5',
    ],
    [
      'a DaemonSet without a template',
      daemonSetRequest({ object: { metadata: {}, spec: {} } }),
      'request.object.spec: template is missing',
    ],
    [
      'tolerations that are no list',
      daemonSetRequest({ object: daemonSet({ tolerations: {} }) }),
      'request.object.spec.template.spec.tolerations: expected a list, got a map',
    ],
  ])('%s', (_why, request, message) => {
    expect(() => judgeRequest(request, 'validate', policies)).toThrow(
      expect.objectContaining({ name: 'MalformedObjectError', message }),
    );
  });
});

it('keys that every object inherits are read like other keys', () => {
  const labels = JSON.parse('{"__proto__":"x","constructor":"y"}');
  const selecting = policySet({
    taint: {
      p: {
        mode: 'Deny',
        nodeSelector: { matchLabels: { constructor: 'y' } },
        taints: [{ key: gpu.key }],
      },
    },
  });
  const update = (metadata: object) =>
    nodeRequest({ object: { metadata, spec: {} }, oldObject: { metadata, spec: { taints: [gpu] } } });
  expect(judgeRequest(update({ labels }), 'validate', selecting).decision.action).toBe('deny');
  expect(judgeRequest(update({ labels: {} }), 'validate', selecting).decision.action).toBe('allow');
});
