import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { AnswerTooLongError, ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ReadyWhen } from '../../../../src/policy/ready-when.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policyWarnings } from '../../../../src/replica/apply-warnings/policy-warnings.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import { manifest, taintSnapshot } from '../../policy/policies.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const TEXT = 'taint example.com/network:NoSchedule';
const ANY = [{ operator: 'Exists' }];
const SERVICE = { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 };
const SERVICE_PATH = '/api/v1/namespaces/taintkeeper/services/taintkeeper';
const PODS_PATH = '/api/v1/namespaces/taintkeeper/pods';
const DAEMON_SETS_PATH = '/apis/apps/v1/namespaces/kube-system/daemonsets';
const NODES_PATH = '/api/v1/nodes';
const CSI_NODES_PATH = '/apis/storage.k8s.io/v1/csinodes';
const CILIUM_PATH = '/apis/apps/v1/namespaces/kube-system/daemonsets/cilium';

const waiting = (names: readonly string[] = ['cilium'], more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [
    {
      ...TAINT,
      ensure: 'UntilReady',
      readyWhen: { daemonSets: names.map((name) => ({ namespace: 'kube-system', name })) },
    },
  ],
  ...more,
});

const waitingFor = (readyWhen: ReadyWhen): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen }],
});

/** CSINodes with these drivers. */
const csiNodes = (...drivers: string[][]) => ({
  metadata: {},
  items: drivers.map((names) => ({ metadata: {}, spec: { drivers: names.map((name) => ({ name })) } })),
});
const DEDICATED = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;

/** Nodes with these labels. */
const nodes = (...labels: Record<string, string>[]) => ({
  metadata: { resourceVersion: '1' },
  items: labels.map((one, index) => ({
    metadata: { name: `n${index}`, labels: one },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  })),
});

const template = (tolerations: object[], more: object = {}) => ({
  metadata: {},
  spec: { containers: [], tolerations, ...more },
});
const daemonSet = (tolerations: object[] = ANY, more: object = {}) => ({
  metadata: { namespace: 'kube-system', name: 'cilium', uid: 'u', resourceVersion: '1' },
  spec: { selector: {}, template: template(tolerations, more) },
});
const replicas = (tolerations: object[] = ANY) => ({
  metadata: { resourceVersion: '1' },
  items: [{ metadata: { name: 'taintkeeper-1' }, spec: { containers: [], tolerations } }],
});

/** A replica, and an API server with these objects and no nodes. */
function rig(objects: Readonly<Record<string, object>>, others: Readonly<Record<string, TaintPolicySpec>> = {}) {
  const known: Readonly<Record<string, object>> = {
    [NODES_PATH]: { metadata: { resourceVersion: '1' }, items: [] },
    [SERVICE_PATH]: { spec: { selector: { app: 'taintkeeper' } } },
    [PODS_PATH]: replicas(),
    [CILIUM_PATH]: daemonSet(),
    ...objects,
  };
  const asked: string[] = [];
  const client = {
    now: () => new Date(),
    async request(method: string, path: string, { mostBytes = Number.POSITIVE_INFINITY }: RequestOptions = {}) {
      asked.push(path);
      const found = known[path];
      if (found instanceof Error) throw found;
      if (!found) throw absent(method, path);
      if (JSON.stringify(found).length > mostBytes) throw new AnswerTooLongError(method, path, mostBytes);
      return found;
    },
  } as unknown as ApiClient;
  const { log, lines } = captureLog();
  const snapshot = taintSnapshot(others);
  const warn = policyWarnings({
    client,
    service: SERVICE,
    clusterState: () => undefined,
    policies: () => snapshot,
    isComplete: () => true,
    log,
  });
  return {
    asked,
    messages: () => lines().map(({ msg }) => msg),
    warnings: (spec: TaintPolicySpec) => warn({ object: manifest('TaintPolicy', 'p', spec) } as never),
  };
}

describe('warnings on a policy with ensure: UntilReady', () => {
  it.each<{ why: string; objects?: Record<string, object>; spec?: TaintPolicySpec; expected: string[] }>([
    { why: 'nothing while all is well', expected: [] },
    {
      why: 'a DaemonSet that does not exist',
      spec: waiting(['cilium', 'celium']),
      expected: [`DaemonSet kube-system/celium does not exist: new nodes wait with ${TEXT}`],
    },
    {
      why: 'a DaemonSet that would wait for itself',
      objects: { [CILIUM_PATH]: daemonSet([{ key: 'other', operator: 'Exists' }]) },
      expected: [`DaemonSet kube-system/cilium does not tolerate ${TEXT}, which waits for it`],
    },
    {
      why: 'the pods of taintkeeper, which would wait for themselves',
      objects: { [PODS_PATH]: replicas([]) },
      expected: [`the pods of taintkeeper do not tolerate ${TEXT}`],
    },
    {
      why: 'nothing of its own pods where there is no Service',
      objects: { [SERVICE_PATH]: absent('GET', SERVICE_PATH) },
      expected: [],
    },
    {
      why: 'which DaemonSets are not waited for, and that all of a cluster are many',
      objects: {
        [DAEMON_SETS_PATH]: {
          metadata: {},
          items: [daemonSet(), { ...daemonSet([]), metadata: { ...daemonSet().metadata, name: 'app' } }],
        },
      },
      spec: waiting([], {
        taints: [
          { ...TAINT, ensure: 'UntilReady', readyWhen: { allDaemonSets: { namespaces: ['kube-system'] } } },
          { ...TAINT, key: 'example.com/b', ensure: 'UntilReady', readyWhen: { allDaemonSets: {} } },
        ],
      }),
      expected: [
        'spec.taints[1]: without namespaces, every user who may create a DaemonSet can keep new nodes tainted',
        'spec.taints[0] does not wait for DaemonSet kube-system/app, which does not tolerate the taint',
        'spec.taints[1] does not wait for DaemonSet kube-system/app, which does not tolerate the taint',
      ],
    },
    {
      why: 'a condition and a resource that no node has, and a misspelled one',
      objects: { [NODES_PATH]: nodes({}) },
      spec: waitingFor({
        conditions: [{ type: 'ready' }, { type: 'example.com/NetworkReady' }],
        allocatable: [{ resource: 'nvidia.com/gpu' }],
      }),
      expected: [
        'no node has condition ready; did you mean Ready?',
        'no node has condition example.com/NetworkReady yet, for which spec.taints[0] waits',
        'no node has resource nvidia.com/gpu yet, for which spec.taints[0] waits',
      ],
    },
    {
      why: 'a namespace without a DaemonSet, and a DaemonSet that is being deleted',
      objects: {
        [DAEMON_SETS_PATH]: {
          metadata: {},
          items: [{ ...daemonSet(), metadata: { ...daemonSet().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
        },
        [DAEMON_SETS_PATH.replace('kube-system', 'agents')]: { metadata: {}, items: [] },
      },
      spec: waitingFor({ allDaemonSets: { namespaces: ['kube-system', 'agents'] } }),
      expected: [
        'spec.taints[0]: namespace agents has no DaemonSet, so the taint waits for none there',
        'spec.taints[0] does not wait for DaemonSet kube-system/cilium, which is being deleted',
      ],
    },
    {
      why: 'a required taint of the policy itself that its DaemonSet does not tolerate',
      objects: { [CILIUM_PATH]: daemonSet([{ ...TAINT, operator: 'Exists' }]) },
      spec: waiting(['cilium'], { taints: [...waiting().taints, DEDICATED] }),
      expected: ['taint dedicated:NoSchedule of this policy is not tolerated by DaemonSet kube-system/cilium'],
    },
    {
      why: 'a CSI driver that no CSINode lists',
      objects: { [CSI_NODES_PATH]: csiNodes(['ebs.csi.aws.com'], []) },
      spec: waitingFor({ csiDrivers: [{ name: 'ebs.csi.aws.com' }, { name: 'efs.csi.aws.com' }] }),
      expected: ['no CSINode lists driver efs.csi.aws.com yet, for which spec.taints[0] waits'],
    },
    ...[
      { why: 'there is no CSINode', found: csiNodes() },
      { why: 'not all of them are read', found: { ...csiNodes([]), metadata: { continue: 'x' } } },
      { why: 'they are too long', found: { ...csiNodes([]), pad: 'x'.repeat(2_000_000) } },
      { why: 'taintkeeper may not list them', found: new ApiError('GET', '/x', 403, 'Forbidden', 'no right') },
    ].map(({ why, found }) => ({
      why: `other problems, and no CSI driver, if ${why}`,
      objects: { [CSI_NODES_PATH]: found, [PODS_PATH]: replicas([]) },
      spec: waitingFor({ csiDrivers: [{ name: 'efs.csi.aws.com' }] }),
      expected: [`the pods of taintkeeper do not tolerate ${TEXT}`],
    })),
    {
      why: 'a DaemonSet that selects none of the nodes of the policy',
      objects: {
        [NODES_PATH]: nodes({ pool: 'gpu' }, { pool: 'gpu' }),
        [CILIUM_PATH]: daemonSet(ANY, { nodeSelector: { pool: 'cpu' } }),
      },
      expected: ["DaemonSet kube-system/cilium selects none of the policy's nodes"],
    },
    { why: 'nothing in mode Audit', spec: waiting(['celium'], { mode: 'Audit' }), expected: [] },
  ])('$why', async ({ objects = {}, spec = waiting(), expected }) => {
    const found = await rig(objects).warnings(spec);
    expect(found).toEqual(expected);
    for (const text of found) expect(text.length).toBeLessThan(120);
  });

  it('another policy that protects the exact key, but no pattern', async () => {
    const others: Record<string, TaintPolicySpec> = {
      exact: { mode: 'Deny', taints: [{ ...TAINT }] },
      pattern: { mode: 'Deny', taints: [{ key: 'example.com/*' }] },
    };
    expect(await rig({}, others).warnings(waiting())).toEqual([
      'TaintPolicy exact (spec.taints[0]) protects startup taint example.com/network:NoSchedule, which stays',
    ]);
  });

  it('the same when the other policy is applied, without a request', async () => {
    const { asked, warnings } = rig({}, { network: waiting() });
    expect(await warnings({ mode: 'Deny', taints: [{ ...TAINT }] })).toEqual([
      'spec.taints[0] protects startup taint example.com/network:NoSchedule of TaintPolicy network, which stays',
    ]);
    expect(asked).toEqual(['/api/v1/nodes']);
  });

  it('nothing when a policy with a pattern is applied, which leaves out the startup taints of others', async () => {
    const { warnings } = rig({}, { network: waiting() });
    expect(await warnings({ mode: 'Deny', taints: [{ key: 'example.com/*' }] })).toEqual([]);
  });

  const tolerating = (more: object) => [{ ...TAINT, operator: 'Exists' }, more];
  const taints = (more: object): TaintPolicySpec['taints'] => [{ ...DEDICATED, ...more }];

  it.each<{ why: string; labels?: string; spec?: Partial<TaintPolicySpec>; tolerates?: object; warns: boolean }>([
    { why: 'a node has both', warns: true },
    { why: 'the taint is NoExecute', spec: { taints: taints({ effect: 'NoExecute' }) }, warns: true },
    { why: 'no node has both', labels: 'cpu', warns: false },
    { why: 'the other policy only reports', spec: { mode: 'Audit' }, warns: false },
    { why: 'the taint keeps no pod off', spec: { taints: taints({ effect: 'PreferNoSchedule' }) }, warns: false },
    { why: 'it tolerates a value of the taint', tolerates: { key: 'dedicated', value: 'x' }, warns: false },
    {
      why: 'it tolerates another value than the required one',
      spec: { taints: taints({ value: 'y' }) },
      tolerates: { key: 'dedicated', value: 'x' },
      warns: true,
    },
  ])('a required taint of another policy that a DaemonSet does not tolerate, if $why: $warns', async (one) => {
    const { labels = 'gpu', spec = {}, tolerates = { key: 'other' }, warns } = one;
    const { warnings } = rig(
      { [CILIUM_PATH]: daemonSet(tolerating(tolerates)), [NODES_PATH]: nodes({ pool: labels }) },
      { gpu: { mode: 'Restore', nodeSelector: { matchLabels: { pool: 'gpu' } }, taints: taints({}), ...spec } },
    );
    const found = await warnings(waiting());
    expect(found).toEqual(
      warns
        ? [
            expect.stringMatching(
              /^taint dedicated.* of TaintPolicy gpu is not tolerated by DaemonSet kube-system\/cilium$/,
            ),
          ]
        : [],
    );
  });

  it('reads each DaemonSet once, and the first sixteen of a policy that names more', async () => {
    const { asked, warnings } = rig({});
    const [first] = waiting().taints;
    const twice = waiting([], { taints: [first, { ...first, key: 'example.com/other' }] as TaintPolicySpec['taints'] });
    await warnings(twice);
    expect(asked.filter((path) => path === CILIUM_PATH)).toHaveLength(1);
    const [rule] = twice.taints;
    const many = Array.from({ length: 17 }, (_, index) => ({
      ...rule,
      key: `example.com/n${index}`,
      readyWhen: {
        daemonSets: [{ namespace: 'kube-system', name: `d${index}` }],
        allDaemonSets: { namespaces: [`n${index}`] },
      },
    }));
    const requested = asked.length;
    const found = await warnings(waiting([], { taints: many as TaintPolicySpec['taints'] }));
    // Besides them: the nodes, and the Service of taintkeeper with its pods.
    expect(asked.length - requested).toBe(16 + 3);
    expect(found).toHaveLength(16);
    expect(found.at(-1)).toBe(
      'DaemonSet kube-system/d15 does not exist: new nodes wait with taint example.com/n15:NoSchedule',
    );
  });

  it('reads them ten times at once, and then seldom', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const { asked, warnings } = rig({});
    for (let n = 0; n < 50; n++) await warnings(waiting());
    expect(asked.filter((path) => path === CILIUM_PATH)).toHaveLength(10);
  });

  const padded = { ...daemonSet(), status: { pad: 'x'.repeat(2_000_000) } };
  const keys = Array.from({ length: 2_000 }, (_, index) => [`label-${index}`, '']);
  const labelled = { ...daemonSet(), metadata: { ...daemonSet().metadata, labels: Object.fromEntries(keys) } };

  it.each([
    { why: 'cannot be read', found: new Error('no answer') },
    { why: 'are longer than is read', found: padded },
  ])('is not given where DaemonSets $why, which the log says', async ({ found }) => {
    const { warnings, messages } = rig({ [CILIUM_PATH]: found });
    expect(await warnings(waiting())).toEqual([]);
    expect(messages()).toContain('nodes or DaemonSets cannot be read: no warnings on policies');
  });

  it('is given of the other DaemonSets where one has more labels than are kept', async () => {
    const list = { metadata: {}, items: [labelled] };
    const { warnings } = rig({ [CILIUM_PATH]: labelled, [DAEMON_SETS_PATH]: list });
    expect(await warnings(waiting(['cilium', 'celium']))).toEqual([
      `DaemonSet kube-system/celium does not exist: new nodes wait with ${TEXT}`,
    ]);
    expect(await warnings(waitingFor({ allDaemonSets: { namespaces: ['kube-system'] } }))).toEqual([]);
  });
});
