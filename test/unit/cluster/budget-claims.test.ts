import { describe, expect, it } from 'vitest';
import { budgetClaims } from '../../../src/cluster/budget-claims.ts';
import { ApiError } from '../../../src/cluster/client/api-error.ts';
import { formatLedger } from '../../../src/cluster/lease/budget-ledger.ts';
import { type BudgetPolicy, budgetId, hasBudget } from '../../../src/evictions/no-execute-budget.ts';
import { allow } from '../../../src/judge/decision.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { ledgerServer } from './ledger-server.ts';

function policyOf(spec: Partial<TaintPolicySpec> = {}): BudgetPolicy {
  const all: TaintPolicySpec = {
    mode: 'Deny',
    taints: [{ key: 'out', ensure: 'Nothing' }],
    noExecute: { maxNodes: 3 },
  };
  const [policy] = policySet({ taint: { out: { ...all, ...spec } } }).taintPolicies;
  if (!policy || !hasBudget(policy)) throw new Error('no budget');
  return policy;
}
const POLICY = policyOf();
const NOW = Date.now();

function start({ policy = POLICY, nodes = [] as readonly string[], replicas = 1 } = {}) {
  const server = ledgerServer();
  server.put(
    formatLedger(new Map([['out', { id: budgetId(policy), nodes: new Map(nodes.map((node) => [node, NOW])) }]])),
  );
  const all = Array.from({ length: replicas }, () =>
    budgetClaims({ client: server.client, namespace: 'taintkeeper', lease: 'taintkeeper' }),
  );
  let turn = 0;
  const ask = (node: string, { username = 'dev', dryRun = false } = {}) => {
    const claims = [{ policy, taints: [{ key: 'out', effect: 'NoExecute' }] }];
    const settle = all[turn++ % replicas];
    if (!settle) throw new Error('no replica');
    return settle({ node, username, claims, dryRun, decision: allow() });
  };
  return { server, ask, message: async (node: string) => messageOf(await ask(node)) };
}
const messageOf = (decision: object) => ('message' in decision ? String(decision.message) : 'allowed');

describe('places in a budget', () => {
  it('are given to as many as may, of 50 that come at the same time, on two replicas', async () => {
    const { server, ask } = start({ replicas: 2 });
    const decisions = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`n${index}`)));
    const passed = decisions.flatMap(({ verdict }, index) => (verdict === 'allow' ? [`n${index}`] : []));
    expect(passed).toHaveLength(3);
    expect(server.places('out').toSorted()).toEqual(passed.toSorted());
    // Those that wait are settled together.
    expect(server.requests.filter((one) => one.endsWith('leases/taintkeeper-noexecute')).length).toBeLessThan(20);
  });

  it('are not taken by dry runs, which are told the same', async () => {
    const { server, ask } = start({ nodes: ['n1', 'n2'] });
    for (const node of ['n3', 'n4']) expect((await ask(node, { dryRun: true })).verdict).toBe('allow');
    expect(server.places('out')).toEqual(['n1', 'n2']);
    expect((await ask('n3')).verdict).toBe('allow');
    expect((await ask('n4', { dryRun: true })).verdict).toBe('deny');
  });

  it('are not asked for by taintkeeper itself', async () => {
    const { server, ask } = start({ nodes: ['n1', 'n2', 'n3'] });
    const username = 'system:serviceaccount:taintkeeper:taintkeeper';
    expect((await ask('n4', { username })).verdict).toBe('allow');
    expect(server.places('out')).toEqual(['n1', 'n2', 'n3']);
  });
});

describe('a refusal', () => {
  const pod = (name: string) => ({
    metadata: { namespace: 'default', name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {},
  });

  it('says how many pods the taint would evict', async () => {
    const { server, message } = start({ nodes: ['n1', 'n2', 'n3'] });
    server.pods = [pod('a'), pod('b')];
    expect(await message('n4')).toContain('It would evict 2 pods from this node.');
  });

  it('comes without that number where pods may not be listed, which is not asked each time', async () => {
    const { server, message } = start({ nodes: ['n1', 'n2', 'n3'] });
    server.before = (method, path) => {
      if (path === '/api/v1/pods') throw new ApiError(method, path, 403, 'Forbidden', '');
    };
    for (let time = 0; time < 3; time++) expect(await message('n4')).not.toContain('evict');
    expect(server.requests.filter((one) => one.includes('/pods'))).toHaveLength(1);
  });

  it('comes without it where they take too long', async () => {
    const { server, message } = start({ nodes: ['n1', 'n2', 'n3'] });
    server.before = (_method, path) =>
      path === '/api/v1/pods' ? new Promise((resolve) => setTimeout(resolve, 600)) : undefined;
    expect(await message('n4')).not.toContain('evict');
  });
});

describe('where places cannot be counted', () => {
  const FAULTS: Readonly<
    Record<string, [fault: (method: string, path: string) => void | Promise<void>, said: string]>
  > = {
    'the ledger may not be written': [
      (method, path) => {
        if (method === 'PUT') throw new ApiError(method, path, 403, 'Forbidden', 'leases is forbidden');
      },
      'leases is forbidden',
    ],
    'the API server does not answer in time': [
      (_method, path) => (path.includes('/leases/') ? new Promise((resolve) => setTimeout(resolve, 1_500)) : undefined),
      'the API server takes too long',
    ],
  };

  it.each(Object.keys(FAULTS))('because %s, failurePolicy decides', async (name) => {
    const [fault, said] = FAULTS[name] ?? [];
    for (const failurePolicy of ['Fail', 'Ignore'] as const) {
      const { server, ask } = start({ policy: policyOf({ failurePolicy }) });
      server.before = fault ?? server.before;
      const began = performance.now();
      const decision = await ask('n1');
      expect(performance.now() - began).toBeLessThan(1_800);
      if (failurePolicy === 'Fail') expect(messageOf(decision)).toContain(`taintkeeper cannot count them: `);
      if (failurePolicy === 'Fail') expect(messageOf(decision)).toContain(said);
      else expect(decision).toMatchObject({ verdict: 'allow', violations: [{ outcome: 'uncounted' }] });
    }
  });

  it('because the leader has not counted them yet, too', async () => {
    const { message } = start({ policy: policyOf({ taints: [{ key: 'out' }, { key: 'b' }] }) });
    expect(await message('n1')).toBe('allowed');
    const other = start();
    other.server.put('{}');
    expect(await other.message('n1')).toContain('its leader has not counted them yet');
  });

  it('what is refused anyway is refused', async () => {
    const { server, message } = start({ nodes: ['n1', 'n2', 'n3'] });
    server.before = (method, path) => {
      if (method === 'PUT') throw new ApiError(method, path, 403, 'Forbidden', '');
    };
    expect(await message('n4')).toContain('n1, n2, n3 do, or may be about to');
  });
});
