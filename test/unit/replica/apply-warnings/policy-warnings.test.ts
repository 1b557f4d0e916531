import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policyWarnings } from '../../../../src/replica/apply-warnings/policy-warnings.ts';
import { captureLog } from '../../captured-log.ts';
import { manifest, taintSnapshot } from '../../policy/policies.ts';

const KEY = 'node-role.kubernetes.io/control-plane';
const node = (name: string, key = KEY) => ({
  metadata: { name, labels: { pool: 'gpu' } },
  spec: { taints: [{ key, effect: 'NoSchedule' }] },
});
const MISSPELT = { mode: 'Deny', taints: [{ key: 'node-role.kubernetes.io/controlplane' }] };
const WARNING = `no node carries node-role.kubernetes.io/controlplane; did you mean ${KEY}?`;

/** A replica, and an API server with these nodes. */
function rig(
  nodes: readonly object[],
  answer?: (signal: AbortSignal) => Promise<unknown>,
  others: Readonly<Record<string, TaintPolicySpec>> = {},
  isComplete = true,
) {
  const asked: string[] = [];
  const client = {
    now: () => new Date(),
    async request(method: string, path: string, { query = {}, signal }: RequestOptions = {}) {
      asked.push(`${method} ${path}`);
      if (answer) return answer(signal as AbortSignal);
      const from = Number(query.continue ?? 0);
      const to = from + Number(query.limit);
      const more = to < nodes.length ? { continue: String(to) } : {};
      return { metadata: { resourceVersion: '1', ...more }, items: nodes.slice(from, to) };
    },
  } as unknown as ApiClient;
  const { log, lines } = captureLog();
  const clusterState: { own?: object } = {};
  const snapshot = taintSnapshot(others);
  const service = { namespace: 'kube-system', name: 'taintkeeper', port: 443 };
  const warn = policyWarnings({
    client,
    service,
    clusterState: () => clusterState.own as never,
    policies: () => snapshot,
    isComplete: () => isComplete,
    log,
  });
  return {
    asked,
    inForce: snapshot.policies,
    clusterState,
    warn: (request: object) => warn({ operation: 'UPDATE', ...request } as never),
    messages: () => lines().map(({ msg }) => msg),
    warnings: (spec: object, kind = 'TaintPolicy') => warn({ object: manifest(kind, 'p', spec) } as never),
    warningsOfChange: (from: object, to: object) =>
      warn({ oldObject: manifest('TaintPolicy', 'p', from), object: manifest('TaintPolicy', 'p', to) } as never),
  };
}

describe('warnings on a policy', () => {
  it.each<{ why: string; nodes: object[]; spec: object; kind?: string; expected: string[] }>([
    { why: 'a key that looks misspelled', nodes: [node('n1')], spec: MISSPELT, expected: [WARNING] },
    { why: 'no nodes yet, as where GitOps is quicker', nodes: [], spec: MISSPELT, expected: [] },
    {
      why: 'a key that is like no other',
      nodes: [node('n1')],
      spec: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
      expected: [],
    },
    { why: 'no valid policy', nodes: [node('n1')], spec: { ...MISSPELT, mode: 'Never' }, expected: [] },
    {
      why: 'a label that looks misspelled',
      nodes: [node('n1')],
      spec: {
        ...MISSPELT,
        taints: [{ key: KEY }],
        nodeSelector: { matchLabels: { pools: 'gpu' } },
      },
      expected: ['no node has label pools; did you mean pool?'],
    },
    {
      why: 'a selector of no node',
      nodes: [node('n1'), node('n2')],
      spec: {
        ...MISSPELT,
        taints: [{ key: KEY }],
        nodeSelector: { matchLabels: { pool: 'cpu' } },
      },
      expected: ['spec.nodeSelector selects none of 2 nodes'],
    },
    {
      why: 'policies of other kinds come before what they are about',
      nodes: [node('n1')],
      spec: { mode: 'Mutate', daemonSets: { namespaces: ['none'] } },
      kind: 'TolerationPolicy',
      expected: [],
    },
  ])('$why', async ({ nodes, spec, kind, expected }) => {
    const { warnings } = rig(nodes);
    expect(await warnings(spec, kind)).toEqual(expected);
  });

  it('is short enough for the names that people misspell', () => expect(WARNING.length).toBeLessThanOrEqual(120));

  it('goes by all nodes, which are read once for policies that come together', async () => {
    const nodes = Array.from({ length: 120 }, (_, index) => node(`n${index}`));
    const { warnings, asked } = rig(nodes);
    expect(await Promise.all([warnings(MISSPELT), warnings(MISSPELT)])).toEqual([[WARNING], [WARNING]]);
    expect(asked).toEqual(Array(3).fill('GET /api/v1/nodes'));
    // Not again for the next one: nodes may have changed meanwhile.
    expect(await warnings(MISSPELT)).toEqual([WARNING]);
    expect(asked).toHaveLength(6);
    // The last of them carries it.
    const other = rig([...nodes, node('last', 'node-role.kubernetes.io/controlplane')]);
    expect(await other.warnings(MISSPELT)).toEqual([]);
  });

  it('is given ten times at once, and then seldom: a pod that sends reviews has the API server list no more nodes', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const { asked, warnings } = rig([node('n1')]);
    const found: (readonly string[])[] = [];
    for (let n = 0; n < 50; n++) found.push(await warnings(MISSPELT));
    expect(found.filter((texts) => texts.length > 0)).toHaveLength(10);
    expect(asked).toHaveLength(10);
  });

  it('is given by the leader without a question', async () => {
    const { warnings, asked, clusterState } = rig([]);
    const labels = {};
    const own = [
      {
        name: 'n1',
        labels,
        taints: [{ key: KEY, effect: 'NoSchedule' }],
        allowRemoval: undefined,
      },
    ];
    clusterState.own = { isSynced: () => true, nodes: () => own };
    expect(await warnings(MISSPELT)).toEqual([WARNING]);
    expect(asked).toEqual([]);
  });

  it('is given by the leader as seldom: a pod that sends reviews has it compare no more nodes', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const { warnings, clusterState } = rig([]);
    const own = [{ name: 'n1', labels: {}, taints: [{ key: KEY, effect: 'NoSchedule' }], allowRemoval: undefined }];
    const nodes = vi.fn(() => own);
    clusterState.own = { isSynced: () => true, nodes };
    const found: (readonly string[])[] = [];
    for (let n = 0; n < 50; n++) found.push(await warnings(MISSPELT));
    expect(found.filter((texts) => texts.length > 0)).toHaveLength(10);
    expect(nodes).toHaveBeenCalledTimes(10);
  });

  it('is not given where there are more nodes than can be read', async () => {
    const { warnings, asked } = rig(Array.from({ length: 5_000 }, (_, index) => node(`n${index}`)));
    expect(await warnings(MISSPELT)).toEqual([]);
    expect(asked.length).toBeLessThan(25);
  });

  it('is not given where nodes have more labels than can be kept, which the log says', async () => {
    const labels = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`label-${index}`, '']));
    const labelled = (name: string) => ({ ...node(name), metadata: { name, labels } });
    const { warnings, messages } = rig(Array.from({ length: 500 }, (_, index) => labelled(`n${index}`)));
    expect(await warnings(MISSPELT)).toEqual([]);
    expect(messages()).toContain('nodes or DaemonSets cannot be read: no warnings on policies');
    expect(await rig([labelled('n1')]).warnings(MISSPELT)).toEqual([WARNING]);
  });

  it('is not given where nodes cannot be read, which the log says', async () => {
    const { warnings, messages } = rig([], () => Promise.reject(new Error('no answer')));
    expect(await warnings(MISSPELT)).toEqual([]);
    expect(messages()).toContain('nodes or DaemonSets cannot be read: no warnings on policies');
  });

  it('does not wait for an answer that never comes', async () => {
    const { warnings } = rig(
      [],
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    expect(await warnings(MISSPELT)).toEqual([]);
  });
});

describe('warnings on a policy among others', () => {
  const requiring = (value: string, mode: TaintPolicySpec['mode'] = 'Restore'): TaintPolicySpec => ({
    mode,
    taints: [{ key: 'dedicated', value, effect: 'NoSchedule', ensure: 'Always' }],
  });

  it('names the policy that requires another value, and which of them wins', async () => {
    const others = { a: requiring('ml'), z: requiring('gpu'), p: requiring('older'), q: requiring('web', 'Audit') };
    expect(await rig([node('n1')], undefined, others).warnings(requiring('cpu'))).toEqual([
      'TaintPolicy a requires dedicated=ml:NoSchedule on node n1, and wins over this policy',
      'TaintPolicy z requires dedicated=gpu:NoSchedule on node n1, but this policy wins',
    ]);
  });

  it('says how many nodes there are, and nothing of policies that meet on none', async () => {
    const others = {
      a: { ...requiring('ml'), nodeSelector: { matchLabels: { pool: 'ml' } } },
      b: { ...requiring('ml'), nodeSelector: { matchLabels: { pool: 'gpu' } } },
    };
    expect(
      await rig([node('n1'), node('n2')], undefined, others).warnings({
        ...requiring('gpu'),
        nodeSelector: { matchLabels: { pool: 'gpu' } },
      }),
    ).toEqual(['TaintPolicy b requires dedicated=ml:NoSchedule on 2 nodes, and wins over this policy']);
  });

  it('says which nodes a changed selector leaves out while they carry a protected taint', async () => {
    const { warningsOfChange } = rig([node('n1'), node('n2')]);
    const policy = (pool: string) => ({
      mode: 'Deny',
      nodeSelector: { matchExpressions: [{ key: 'pool', operator: 'In', values: [pool, 'other'] }] },
      taints: [{ key: KEY }],
    });
    expect(await warningsOfChange(policy('gpu'), policy('cpu'))).toEqual([
      'this policy no longer protects taints on 2 nodes that it selected: n1, n2',
      'spec.nodeSelector selects none of 2 nodes',
    ]);
    expect(await warningsOfChange(policy('cpu'), policy('gpu'))).toEqual([]);
  });
});

describe('warnings on a policy whose startup taint nodes wait with', () => {
  const daemonSets = [{ namespace: 'kube-system', name: 'cilium' }];
  const STARTUP = { key: KEY, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { daemonSets } };
  const policy = (more: object = {}, status: object = {}) => ({
    ...manifest('TaintPolicy', 'p', { mode: 'Restore', taints: [STARTUP], ...more }),
    status,
  });
  const DOMAIN = 'node-role.kubernetes.io/*';
  const WITHOUT = { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] };

  it('names the nodes, if the rule goes', async () => {
    const { warn } = rig([node('n1'), node('n2'), node('n3', 'dedicated')]);
    const changed = await warn({ oldObject: policy(), object: policy(WITHOUT) });
    expect(changed).toEqual([
      '2 nodes still wait, and will lose the startup taint of this policy in 10 seconds: n1, n2',
    ]);
    expect(await warn({ oldObject: policy(), object: policy({ failurePolicy: 'Ignore' }) })).toEqual([]);
  });

  it.each<{ why: string; other: Partial<TaintPolicySpec>; named: boolean; third?: TaintPolicySpec }>([
    { why: 'the leader writes an entry first', other: {}, named: true },
    { why: 'that policy reads no entries', other: { removalByAnnotation: 'Forbidden' }, named: false },
    { why: 'that policy only reports', other: { removalByAnnotation: 'Forbidden', mode: 'Audit' }, named: true },
    {
      why: 'that policy selects other nodes',
      other: { removalByAnnotation: 'Forbidden', nodeSelector: { matchLabels: { pool: 'cpu' } } },
      named: true,
    },
    {
      why: 'a third policy still sets such a taint, so that the key DOMAIN/* leaves it out',
      other: { removalByAnnotation: 'Forbidden' },
      third: { mode: 'Restore', taints: [{ key: KEY, effect: 'NoExecute', ensure: 'AtRegistration' }] },
      named: true,
    },
    {
      why: 'a third policy sets another startup taint',
      other: { removalByAnnotation: 'Forbidden' },
      third: { mode: 'Restore', taints: [{ key: 'other', effect: 'NoSchedule', ensure: 'AtRegistration' }] },
      named: false,
    },
    {
      why: 'a third policy, which only reports, sets such a taint',
      other: { removalByAnnotation: 'Forbidden' },
      third: { mode: 'Audit', taints: [{ key: KEY, effect: 'NoExecute', ensure: 'AtRegistration' }] },
      named: false,
    },
  ])(
    'names the nodes: $named, if a key DOMAIN/* of another policy protects the taint from then on, and $why',
    async (one) => {
      const { other, third, named } = one;
      const inForce = {
        p: { mode: 'Restore', taints: [STARTUP] },
        other: { mode: 'Restore', taints: [{ key: DOMAIN }], ...other },
        ...(third ? { third } : {}),
      } as Record<string, TaintPolicySpec>;
      const { warn } = rig([node('n1')], undefined, inForce);
      const warning = '1 node still waits, and will lose the startup taint of this policy in 10 seconds: n1';
      expect(await warn({ oldObject: policy(), object: policy(WITHOUT) })).toEqual(named ? [warning] : []);
    },
  );

  it.each<{ why: string; more: object; named: boolean }>([
    { why: 'the leader writes an entry first', more: {}, named: true },
    { why: 'the policy reads no entries', more: { removalByAnnotation: 'Forbidden' }, named: false },
    { why: 'the key of the policy leaves it out', more: { taints: [{ key: DOMAIN, except: [KEY] }] }, named: true },
  ])(
    'names the nodes: $named, if a key DOMAIN/* of the same policy protects the taint from then on, and $why',
    async ({ more, named }) => {
      const { warn } = rig([node('n1')]);
      const oldObject = policy({ taints: [STARTUP, { key: DOMAIN }] });
      const object = policy({ taints: [{ key: DOMAIN }], ...more });
      const warning = '1 node still waits, and will lose the startup taint of this policy in 10 seconds: n1';
      expect(await warn({ oldObject, object })).toEqual(named ? [warning] : []);
    },
  );

  it('does not count as protected before, where a key DOMAIN/* of the policy left it out for another one', async () => {
    const inForce = { network: { mode: 'Restore', taints: [STARTUP] } } as Record<string, TaintPolicySpec>;
    const { warn } = rig([node('n1')], undefined, inForce);
    const domain = (pool: string) => policy({ taints: [{ key: DOMAIN }], nodeSelector: { matchLabels: { pool } } });
    expect(await warn({ oldObject: domain('gpu'), object: domain('cpu') })).toEqual([
      'spec.nodeSelector selects none of 1 node',
    ]);
  });

  it('has the count of the status, if the nodes cannot be read', async () => {
    const { warn } = rig([], () => Promise.reject(new Error('no answer')));
    const oldObject = policy({}, { waiting: 1_200 });
    expect(await warn({ oldObject, object: policy(WITHOUT) })).toEqual([
      '1200 nodes still wait, and may lose the startup taint of this policy in 10 seconds',
    ]);
    expect(await warn({ oldObject, object: policy({ failurePolicy: 'Ignore' }) })).toEqual([]);
  });

  it('says that nodes may lose the taint while the spec of another policy is not known: the leader removes none then', async () => {
    const { warn } = rig([node('n1')], undefined, {}, false);
    const oldObject = policy({}, { waiting: 1 });
    const text = '1 node still waits, and may lose the startup taint of this policy in 10 seconds';
    expect(await warn({ operation: 'DELETE', oldObject, object: null })).toEqual([text]);
    expect(await warn({ oldObject, object: policy(WITHOUT) })).toEqual([`${text}: n1`]);
  });

  it.each<{ status: object; expected: string[] }>([
    {
      status: { waiting: 3 },
      expected: ['3 nodes still wait, and will lose the startup taint of this policy in 10 seconds'],
    },
    {
      status: { waiting: 1 },
      expected: ['1 node still waits, and will lose the startup taint of this policy in 10 seconds'],
    },
    { status: {}, expected: [] },
    { status: { waiting: 'many' }, expected: [] },
    { status: { waiting: -1 }, expected: [] },
  ])('has the count of the status, if it is deleted, and reads nothing: $status', async ({ status, expected }) => {
    const { warn, asked } = rig([node('n1')]);
    expect(await warn({ operation: 'DELETE', oldObject: policy({}, status), object: null })).toEqual(expected);
    expect(asked).toEqual([]);
  });

  it.each<{
    why: string;
    outcome: 'will' | 'may';
    other: object;
    third?: TaintPolicySpec;
    value?: string | undefined;
  }>([
    { why: 'another policy has the taint as well', outcome: 'may', other: { taints: [STARTUP] } },
    {
      why: 'another policy leaves it to an agent',
      outcome: 'may',
      other: { taints: [{ key: KEY, effect: 'NoSchedule', ensure: 'AtRegistration' }] },
    },
    { why: 'another policy protects it', outcome: 'may', other: { taints: [{ key: KEY }] } },
    { why: 'the other policy only reports', outcome: 'will', other: { mode: 'Audit', taints: [STARTUP] } },
    { why: 'the other policy has another value', outcome: 'will', other: { taints: [{ ...STARTUP, value: 'x' }] } },
    { why: 'the other policy is about other taints', outcome: 'will', other: WITHOUT },
    {
      why: 'it names no value, as the other policy',
      outcome: 'may',
      other: { taints: [STARTUP] },
      value: undefined,
    },
    {
      why: 'it names no value, and the other policy sets one',
      outcome: 'may',
      other: { taints: [{ ...STARTUP, value: 'x' }] },
      value: undefined,
    },
    {
      why: 'it names no value, and the other policy protects one',
      outcome: 'may',
      other: { taints: [{ key: KEY, value: 'x' }] },
      value: undefined,
    },
    {
      why: 'it names no value, and the other policy protects one with another effect',
      outcome: 'will',
      other: { taints: [{ key: KEY, value: 'x', effect: 'NoExecute' }] },
      value: undefined,
    },
    {
      why: 'it names no value, and the other policy protects the value of another key',
      outcome: 'will',
      other: { taints: [{ key: 'dedicated', value: 'x' }, { key: `${KEY}-2` }] },
      value: undefined,
    },
    {
      why: 'it names no value, and the other policy sets one, but only reports',
      outcome: 'will',
      other: { mode: 'Audit', taints: [{ ...STARTUP, value: 'x' }] },
      value: undefined,
    },
    { why: 'the other policy protects another value', outcome: 'will', other: { taints: [{ key: KEY, value: 'x' }] } },
    {
      why: 'a key DOMAIN/* of the other policy protects it from then on: the leader writes an entry first',
      outcome: 'will',
      other: { taints: [{ key: DOMAIN }] },
    },
    {
      why: 'a key DOMAIN/* of the other policy protects it from then on, and the policy reads no entries',
      outcome: 'may',
      other: { removalByAnnotation: 'Forbidden', taints: [{ key: DOMAIN }] },
    },
    {
      why: 'the other policy, which reads no entries, leaves out its key',
      outcome: 'will',
      other: { removalByAnnotation: 'Forbidden', taints: [{ key: DOMAIN, except: [KEY] }] },
    },
    {
      why: 'a key DOMAIN/* of the other policy, which reads no entries, leaves it out for a third one',
      outcome: 'will',
      other: { removalByAnnotation: 'Forbidden', taints: [{ key: DOMAIN }] },
      third: { mode: 'Restore', taints: [{ key: KEY, effect: 'NoExecute', ensure: 'AtRegistration' }] },
    },
    {
      why: 'it names no value, and a key DOMAIN/* with a value protects one, and reads no entries',
      outcome: 'may',
      other: { removalByAnnotation: 'Forbidden', taints: [{ key: DOMAIN, value: 'x' }] },
      value: undefined,
    },
    {
      why: 'it names no value, and a key of another domain protects one',
      outcome: 'will',
      other: { removalByAnnotation: 'Forbidden', taints: [{ key: 'example.com/*', value: 'x' }] },
      value: undefined,
    },
  ])(
    'says that nodes $outcome lose the taint, if it is deleted and $why',
    async ({ outcome, other, third, ...one }) => {
      const { value } = { value: 'own', ...one };
      const spec = { mode: 'Restore', taints: [{ ...STARTUP, ...(value === undefined ? {} : { value }) }] };
      const inForce = {
        p: spec as TaintPolicySpec,
        other: { mode: 'Restore', ...other } as TaintPolicySpec,
        ...(third ? { third } : {}),
      };
      const { warn, asked } = rig([node('n1')], undefined, inForce);
      const oldObject = policy(spec, { waiting: 3 });
      expect(await warn({ operation: 'DELETE', oldObject, object: null })).toEqual([
        `3 nodes still wait, and ${outcome} lose the startup taint of this policy in 10 seconds`,
      ]);
      expect(asked).toEqual([]);
    },
  );
});

it('the deletion of a policy that nodes wait for is compared with the others once, and never silent', async () => {
  const startup: TaintPolicySpec['taints'][number] = {
    ...{ key: KEY, effect: 'NoSchedule', ensure: 'UntilReady' },
    readyWhen: { conditions: [{ type: 'NetworkReady' }] },
  };
  const spec: TaintPolicySpec = { mode: 'Restore', taints: [startup] };
  const domain: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'node-role.kubernetes.io/*' }] };
  const { warn, inForce } = rig([], undefined, { p: spec, domain });
  let reads = 0;
  for (const policy of inForce) {
    const own = policy.spec;
    Object.defineProperty(policy, 'spec', { get: () => ++reads && own });
  }
  const oldObject = { ...manifest('TaintPolicy', 'p', spec), status: { waiting: 3 } };
  const readsThen: number[] = [];
  for (let n = 0; n < 50; n++) {
    expect(await warn({ operation: 'DELETE', oldObject, object: null })).toEqual([
      '3 nodes still wait, and will lose the startup taint of this policy in 10 seconds',
    ]);
    readsThen.push(reads);
  }
  expect(reads).toBeGreaterThan(0);
  expect(new Set(readsThen).size).toBe(1);
});

describe('warnings on a policy that is made to take long', () => {
  const EXPRESSIONS = 63;
  const POLICIES = 20;
  const matchExpressions = Array.from({ length: EXPRESSIONS }, (_, n) => ({
    key: `label-${n}`,
    operator: 'NotIn' as const,
    values: Array.from({ length: 64 }, (_, value) => `v${value}`),
  }));
  const requiring = (value: string, selector: Pick<TaintPolicySpec, 'nodeSelector'>): TaintPolicySpec => ({
    mode: 'Deny',
    ...selector,
    taints: [{ key: 'dedicated', value, effect: 'NoSchedule', ensure: 'Always' }],
  });
  const hostile = requiring('hostile', { nodeSelector: { matchExpressions } });
  const others = Object.fromEntries(
    Array.from({ length: POLICIES }, (_, n) => [
      `a${n}`,
      requiring(`v${n}`, { nodeSelector: { matchLabels: { pool: 'gpu' } } }),
    ]),
  );

  /** A leader with these nodes, and how often a label of them is read. */
  function leader(count: number) {
    const { clusterState, warningsOfChange } = rig([], undefined, others);
    const reads = new Map<string, number>();
    const own = Array.from({ length: count }, (_, n) => ({
      name: `n${n}`,
      labels: new Proxy<Record<string, string>>(
        { pool: 'gpu', ...Object.fromEntries(matchExpressions.map(({ key }) => [key, 'true'])) },
        {
          get(target, key) {
            reads.set(String(key), (reads.get(String(key)) ?? 0) + 1);
            return target[String(key)];
          },
        },
      ),
      taints: [{ key: 'dedicated', value: 'v0', effect: 'NoSchedule' }],
      allowRemoval: undefined,
    }));
    clusterState.own = { isSynced: () => true, nodes: () => own };
    return { reads, warnings: () => warningsOfChange(hostile, hostile) };
  }

  it('compares each node once with each selector, however many policies contradict the new one', async () => {
    const { reads, warnings } = leader(30);
    expect(await warnings()).toContain(
      'TaintPolicy a0 requires dedicated=v0:NoSchedule on 30 nodes, and wins over this policy',
    );
    expect(reads.get('label-0')).toBe(30);
    expect(reads.get('pool')).toBe(30 * POLICIES);
  });

  it('lets other requests be answered meanwhile', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++);
    onTestFinished(() => clock.mockRestore());
    const { warnings } = leader(200);
    let isDone = false;
    const warned = warnings().finally(() => {
      isDone = true;
    });
    let turns = 0;
    while (!isDone) {
      turns++;
      await setImmediate();
    }
    expect(await warned).toHaveLength(16);
    // A millisecond passes for each node.
    expect(turns).toBeGreaterThan(50);
  });
});
