import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { all, cel, type Expression, literal, not } from '../../src/cel/expression.ts';
import { matchesAny } from '../../src/cel/pattern.ts';
import { matchesPattern } from '../../src/kubernetes/pattern.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { webhookEntries } from '../../src/webhooks/webhook-entries.ts';
import type { WebhookEntry } from '../../src/webhooks/webhook-entry.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { readEvaluations } from './evaluations.ts';
import { createEntryRig, type EntryRig } from './match-conditions-rig.ts';
import type { Node, Taint } from './nodes.ts';

const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };
const PROTECTED: Taint = { key: 'example.com/dedicated-7', effect: 'NoSchedule' };
const OTHER: Taint = { key: 'example.org/other', value: 'x', effect: 'NoSchedule' };

/** Deny policies, each for a pool of its own and a taint of its own. */
function policiesForPools(count: number): Policy[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'TaintPolicy',
    name: `pool-${index}`,
    spec: {
      mode: 'Deny',
      nodeSelector: { matchLabels: { pool: `pool-${index}` } },
      taints: [{ key: `example.com/dedicated-${index}` }],
      exempt: { users: [`*:controller-of-${index}`] },
    },
  }));
}

/** The domain of most taints, of nearly the greatest length. */
const LONG_DOMAIN = `${Array.from({ length: 4 }, () => 'x'.repeat(60)).join('.')}.example`;

const domain = (key: string, except?: string[]): Policy[] => [
  {
    kind: 'TaintPolicy',
    name: 'domain',
    spec: { mode: 'Deny', taints: [{ key, ...(except ? { except } : {}) }] },
  },
];

/** What else stands on the node. The keys have the greatest length that there can be. */
function manyTaints(count: number): Taint[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `${LONG_DOMAIN}/${`taint-${index}-`.padEnd(62, 'x')}x`,
    value: 'v'.repeat(63),
    effect: 'NoSchedule',
  }));
}

/** The lengths up to which the conditions look at a list item by item. */
function sizesIn(entries: readonly WebhookEntry[], pattern: RegExp): ReadonlySet<number> {
  const expressions = entries.flatMap(({ matchConditions }) => matchConditions.map(({ expression }) => expression));
  return new Set(expressions.flatMap((text) => [...text.matchAll(pattern)].map(([, size]) => Number(size))));
}

describeWithControlPlane('matchConditions at their limits', {}, (cp) => {
  let rig: EntryRig;
  let count = 0;

  beforeAll(async () => {
    rig = await createEntryRig(cp());
  });
  afterAll(() => rig?.stop());

  /** A node of pool 7, stored unseen by the webhooks. */
  async function createNode(taints: readonly Taint[]): Promise<Node> {
    const name = `n${++count}`;
    const body = { metadata: { name, labels: { pool: 'pool-7' } }, spec: { taints } };
    const created = await cp().request<Node>(admin, 'POST', '/api/v1/nodes', { body });
    expect(created.status, JSON.stringify(created.body).slice(0, 500)).toBe(201);
    return created.body;
  }

  /** With which status the developer's creation of such a node ends, which is tried only. */
  async function create(taints: readonly Taint[]): Promise<number> {
    const body = { metadata: { name: 'n-new', labels: { pool: 'pool-7' } }, spec: { taints } };
    return (await cp().request(developer, 'POST', '/api/v1/nodes?dryRun=All', { body })).status;
  }

  /** How the developer's update ends, which is tried only. */
  async function update(node: Node, change: (node: Node) => object): Promise<string> {
    const answer = await cp().request<{ message?: string }>(
      developer,
      'PUT',
      `/api/v1/nodes/${node.metadata.name}?dryRun=All`,
      { body: { ...node, ...change(node) } },
    );
    return answer.status === 200 ? 'passed' : (answer.body.message ?? String(answer.status));
  }

  const withTaints = (change: (taints: readonly Taint[]) => readonly Taint[]) => (node: Node) => ({
    spec: { ...node.spec, taints: change(node.spec.taints ?? []) },
  });
  const without = (key: string) => withTaints((taints) => taints.filter((taint) => taint.key !== key));

  const label = (node: Node) => ({ metadata: { ...node.metadata, labels: { ...node.metadata.labels, x: 'y' } } });
  const cordon = (node: Node) => ({ spec: { ...node.spec, unschedulable: true } });
  const add = withTaints((taints) => [...taints, { key: 'example.org/new', effect: 'NoExecute' }]);
  const touch = withTaints((taints) =>
    taints.map((taint) => (taint.key.startsWith('xxx') ? { ...taint, value: 'changed' } : taint)),
  );

  describe.each<[what: string, policies: Policy[], taints: number, exact: boolean]>([
    ['200 policies, 64 taints', policiesForPools(200), 61, true],
    ['200 policies, 2,000 taints', policiesForPools(200), 1_997, false],
    ['a policy for a domain, 64 taints', domain('example.com/*', ['example.com/other']), 61, true],
    ['a policy for a domain, 2,000 taints', domain('example.com/*'), 1_997, false],
    ['more policies than fit', policiesForPools(1_000), 61, false],
  ])('%s, and no replica answers', (_what, policies, taints, exact) => {
    const entries = webhookEntries(policies);
    let node: Node;

    beforeAll(async () => {
      await rig.register(entries, compilePolicies(policies));
      rig.setReachable(false);
      node = await createNode([...manyTaints(taints), PROTECTED, OTHER, NOT_READY]);
    });

    const harmless: [what: string, change: (node: Node) => object][] = [
      ['a label', label],
      ['cordon', cordon],
      ['a taint that Kubernetes sets and removes is removed', without(NOT_READY.key)],
    ];
    const harmlessIfLookedAtClosely: typeof harmless = [
      ['a new taint', add],
      ['a taint that no policy protects is removed', without(OTHER.key)],
      ['all others change their values', touch],
    ];
    it.each([...harmless, ...(exact ? harmlessIfLookedAtClosely : [])])('passes: %s', async (_change, change) => {
      expect(await update(node, change)).toBe('passed');
    });

    it('is refused: the protected taint is removed', async () => {
      expect(await update(node, without(PROTECTED.key))).toMatch(/failed calling webhook "protect\.taintkeeper\.dev"/);
    });

    it('is judged: the protected taint is removed, once a replica answers', async () => {
      rig.setReachable(true);
      expect(await update(node, without(PROTECTED.key))).toContain('removing taint example.com/dedicated-7:NoSchedule');
      expect(rig.takeCalls().filter(({ phase }) => phase === 'validate')).toEqual([
        { entry: 'protect.taintkeeper.dev', phase: 'validate' },
      ]);
    });
  });

  it.each<[what: string, policies: Policy[]]>([
    ['100 policies', policiesForPools(100)],
    ['a domain', domain(`${LONG_DOMAIN}/*`, [`${LONG_DOMAIN}/nothing`, `${LONG_DOMAIN}/none`])],
  ])(
    'no expression exceeds its budget at any length of a list that is evaluated item by item: %s',
    async (_what, policies) => {
      const earlier = await readEvaluations(cp());
      const entries = webhookEntries(policies);
      await rig.register(entries, compilePolicies(policies));
      const sizes = sizesIn(entries, /size\(before\) > (\d+) \|\|/g);
      const sizesOfNewNodes = sizesIn(entries, /size\(taints\) > (\d+) \|\|/g);
      expect(Math.min(...sizes, ...sizesOfNewNodes)).toBeGreaterThanOrEqual(192);
      expect([sizes.size, sizesOfNewNodes.size]).not.toContain(0);
      for (const size of sizes) {
        const node = await createNode([...manyTaints(size - 2), PROTECTED]);
        const isMatched = policies.length === 1;
        const expected = isMatched ? expect.stringContaining('at most 128 are judged') : 'passed';
        expect(await update(node, touch)).toEqual(expected);
        const called = rig.takeCalls();
        if (!isMatched) expect(called).toEqual([]);
        expect(await update(node, (one) => ({ ...touch(one), ...label(one) }))).toEqual(expected);
        rig.takeCalls();
      }
      for (const size of sizesOfNewNodes) {
        // The API server adds a taint of its own.
        expect(await create(manyTaints(size - 1))).toBe(201);
        expect(rig.takeCalls()).toEqual([]);
      }
      const errors = (await readEvaluations(cp())).filter(
        (line) =>
          line.startsWith('apiserver_admission_match_condition_evaluation_errors_total{') && !earlier.includes(line),
      );
      expect(errors).toEqual([]);
    },
  );

  it('patterns and literals mean to the API server what they mean to the engine', async () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', '*'), maxLength: 5 }),
      fc.string({ unit: fc.constantFrom('a', '*', '.', '\\', '"', "'", '\n', '+', '[', ')', '🦆', '\u202e') }),
    );
    const pairs = fc.sample(
      fc
        .record({ pattern: text, filling: fc.array(text, { minLength: 5, maxLength: 5 }), any: text })
        // A text that matches, in which other text stands where the pattern has its stars, and one that hardly does.
        .chain(({ pattern, filling, any }) => {
          const matching = pattern.split('*').reduce((whole, part, index) => whole + (filling[index % 5] ?? '') + part);
          return fc.constantFrom({ pattern, text: matching }, { pattern, text: any }, { pattern, text: pattern });
        }),
      600,
    );
    // Head and tail may not share a character.
    pairs.push({ pattern: 'a*a', text: 'a' }, { pattern: 'aba*ba', text: 'aba' }, { pattern: '🦆*🦆', text: '🦆' });
    const claim = ({ pattern, text: value }: (typeof pairs)[number]): Expression => {
      const claimed = matchesAny({ value: cel(0)`${literal(value)}`, maxLength: 100 }, [pattern]);
      return matchesPattern(pattern, value) ? claimed : not(claimed);
    };
    const conditions = Map.groupBy(pairs, (_, index) => `condition-${index % 60}`);
    const entry: WebhookEntry = {
      name: 'patterns.taintkeeper.dev',
      phase: 'validate',
      resource: 'nodes',
      operations: ['UPDATE'],
      failurePolicy: 'Fail',
      matchConditions: [...conditions].map(([name, some]) => ({ name, expression: all(some.map(claim)).text })),
    };
    const node = await createNode([]);
    await rig.register([entry], compilePolicies([]));
    expect(await update(node, label)).toBe('passed');
    expect(rig.takeCalls(), 'all of the conditions are true').toEqual([
      { entry: 'patterns.taintkeeper.dev', phase: 'validate' },
    ]);
  });
});
