import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { NodePool } from '../../src/node-pools/node-pool.ts';
import { howToDeclare } from '../../src/node-pools/pool-declaration.ts';
import { undeclaredTaints } from '../../src/node-pools/undeclared-taints.ts';
import { viewKarpenterPool } from '../../src/objects/karpenter-pool.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { defineNodePools, obstacleToKarpenter } from '../control-plane/karpenter.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { policySet } from '../unit/policy/policies.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, installCrds } from './policy-resources.ts';

const WARNING = new URL('../../manifests/warnings/node-pools.yaml', import.meta.url).pathname;
const NODE_POOLS = '/apis/karpenter.sh/v1/nodepools';
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const PRESENT = { ...GPU, ensure: 'Always' } as const;
const TIMEOUT_MS = 30_000;

const nodePool = (name: string, spec: object, labels: object = {}, more: object = {}) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: {
    template: {
      metadata: { labels },
      spec: {
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
        ...spec,
      },
    },
    ...more,
  },
});
const POOLS = [
  nodePool('bare', {}, { pool: 'gpu' }),
  nodePool('declared', { taints: [GPU] }, { pool: 'gpu' }),
  nodePool('other-value', { taints: [{ ...GPU, value: 'cpu' }] }, { pool: 'gpu' }),
  nodePool('starting', { startupTaints: [GPU] }, { pool: 'gpu' }),
  nodePool('waiting', { startupTaints: [{ key: 'example.com/network', effect: 'NoSchedule' }] }, { pool: 'gpu' }),
  nodePool('handed', { startupTaints: [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }] }),
  nodePool('zones', {
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a', 'b'] }],
  }),
];

const spec = (nodeSelector?: object, more: Partial<TaintPolicySpec> = {}) =>
  ({ mode: 'Restore', ...(nodeSelector ? { nodeSelector } : {}), taints: [PRESENT], ...more }) as TaintPolicySpec;
const asks = (key: string, operator: string, ...values: string[]) =>
  spec({ matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] });

describe('the warning of a TaintPolicy', skipFor(obstacleToKarpenter()), () => {
  describeWithControlPlane('that a NodePool does not declare its required taint', {}, (cp) => {
    beforeAll(async () => {
      await installCrds(cp());
      await defineNodePools(cp());
      expect(await cp().kubectl(['apply', '-f', WARNING])).toMatchObject({ code: 0, stderr: '' });
      for (const body of POOLS) {
        const { status, body: answer } = await cp().request(admin, 'POST', NODE_POOLS, { body });
        expect(status, JSON.stringify(answer)).toBe(201);
      }
      // Once the API server has them all.
      let last: readonly string[] = [];
      await waitUntil(
        async () => {
          last = await warnings(spec());
          return last.length === POOLS.length - 1 || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `the warnings are ${JSON.stringify(last)}` },
      );
    });

    async function warnings(policy: TaintPolicySpec): Promise<string[]> {
      const answer = await createPolicy(cp(), policyObject('TaintPolicy', 'p', policy), { dryRun: true });
      expect(answer.status, answer.body.message).toBe(201);
      return answer.warnings;
    }

    it.each([
      { what: 'without a list of taints', name: 'no-list', template: {} },
      { what: 'with an empty list', name: 'empty-list', template: { taints: [] } },
      { what: 'with others', name: 'others', template: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
    ])('the command for a pool $what loses no taint that was declared since', async ({ name, template }) => {
      const object = nodePool(name, template);
      expect((await cp().request(admin, 'POST', NODE_POOLS, { body: object })).status).toBe(201);
      onTestFinished(async () => void (await cp().request(admin, 'DELETE', `${NODE_POOLS}/${name}`)));
      const commandNow = async () =>
        howToDeclare(viewKarpenterPool(await read()) as NodePool, [{ taint: GPU, list: 'taints' }]);
      const read = async () => (await cp().request<object>(admin, 'GET', `${NODE_POOLS}/${name}`)).body;
      const keys = async () => viewKarpenterPool(await read())?.taints?.map(({ key }) => key);
      const before = (template.taints ?? []).map(({ key }) => key);
      const first = await commandNow();

      // As it was printed: it declares the taint.
      await pasteRemedy(cp(), first);
      expect(await keys()).toEqual([...before, 'dedicated']);

      // Somebody else has declared another one since it was printed.
      const since = [...(template.taints ?? []), { key: 'since', effect: 'NoSchedule' }];
      const body = { spec: { template: { spec: { taints: since } } } };
      const contentType = 'application/merge-patch+json';
      expect((await cp().request(admin, 'PATCH', `${NODE_POOLS}/${name}`, { body, contentType })).status).toBe(200);
      await pasteRemedy(cp(), first).catch(() => {});
      expect(await keys()).toContain('since');
      await pasteRemedy(cp(), await commandNow());
      expect(await keys()).toEqual(expect.arrayContaining(['since', 'dedicated']));
    });

    it('names pool and taint', async () => {
      const [first = ''] = await warnings(spec({ matchLabels: { 'karpenter.sh/nodepool': 'bare' } }));
      expect(first).toContain('NodePool bare does not declare taint dedicated=gpu:NoSchedule');
    });

    it.each<{ what: string; policy: TaintPolicySpec; fewer?: string | true }>([
      { what: 'every node', policy: spec() },
      { what: 'a label of the template', policy: spec({ matchLabels: { pool: 'gpu' } }) },
      { what: 'another value of it', policy: spec({ matchLabels: { pool: 'cpu' } }) },
      { what: 'a label that is there', policy: asks('pool', 'Exists') },
      { what: 'all but one pool', policy: asks('karpenter.sh/nodepool', 'NotIn', 'bare') },
      { what: 'more than a requirement allows', policy: asks('topology.kubernetes.io/zone', 'In', 'a', 'b', 'c') },
      { what: 'less than a requirement allows', policy: asks('topology.kubernetes.io/zone', 'In', 'a') },
      { what: 'a machine', policy: asks('node.kubernetes.io/instance-type', 'In', 'p5') },
      { what: 'a label that is not there', policy: asks('team', 'DoesNotExist'), fewer: true },
      { what: 'in mode Audit', policy: spec(undefined, { mode: 'Audit' }), fewer: true },
      {
        what: 'any value',
        policy: spec(undefined, { taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] }),
      },
      {
        what: 'a taint for new nodes',
        policy: spec(undefined, { taints: [{ ...GPU, ensure: 'AtRegistration' }] }),
        fewer: 'starting',
      },
      {
        what: 'a taint for new nodes that an agent removes',
        policy: spec(undefined, {
          taints: [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute', ensure: 'AtRegistration' }],
        }),
      },
      {
        what: 'a taint until DaemonSets are ready',
        policy: spec(undefined, {
          taints: [
            {
              key: 'example.com/network',
              effect: 'NoSchedule',
              ensure: 'UntilReady',
              readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
            },
          ],
        }),
      },
      { what: 'no required taint', policy: spec(undefined, { taints: [{ key: 'dedicated' }] }) },
      {
        what: 'a taint with effect PreferNoSchedule',
        policy: spec(undefined, { taints: [{ ...PRESENT, effect: 'PreferNoSchedule' }] }),
      },
    ])('says what the status of the policy says, or less: $what', async ({ policy, fewer }) => {
      const pools = POOLS.flatMap((object) => viewKarpenterPool(object) ?? []);
      const undeclared = undeclaredTaints(pools, policySet({ taint: { p: policy } }).taintPolicies);
      const certain = undeclared.filter(({ openLabels }) => openLabels.length === 0).map(({ pool }) => pool.name);
      const warned = (await warnings(policy)).map((text) => / NodePool (\S+) /.exec(text)?.[1] ?? text);
      const expected = fewer === true ? [] : [...new Set(certain)].filter((name) => name !== fewer);
      expect(warned.sort()).toEqual(expected.sort());
    });
  });
});
