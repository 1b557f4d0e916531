import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BudgetPolicy,
  budgetClaimsOf,
  budgetId,
  type Claim,
  doubtful,
  doubtfulInMs,
  GRACE_MS,
  hasBudget,
  type Ledger,
  recount,
  type Settled,
  settle,
  withBudget,
} from '../../../src/evictions/no-execute-budget.ts';
import { allow } from '../../../src/judge/decision.ts';
import type { StringMap } from '../../../src/kubernetes/label-selector.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';

const out: Taint = { key: 'example.com/out', effect: 'NoExecute' };
const repair: Taint = { key: 'example.com/repair', value: 'disk', effect: 'NoExecute' };
const unreachable: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
const DEVELOPER: Requester = { username: 'dev', groups: [] };
const ADMIN: Requester = { username: 'root', groups: ['admins'] };

const SPEC: TaintPolicySpec = {
  mode: 'Deny',
  taints: [{ key: 'example.com/*', ensure: 'Nothing' }],
  noExecute: { maxNodes: 2 },
};

function policyOf(spec: Partial<TaintPolicySpec> = {}, name = 'p', options = {}): BudgetPolicy {
  const [policy] = policySet({ taint: { [name]: { ...SPEC, ...spec } } }, options).taintPolicies;
  if (!policy || !hasBudget(policy)) throw new Error('no budget');
  return policy;
}

const view = (taints: readonly Taint[], labels: StringMap = {}) => ({
  name: 'n1',
  labels,
  taints,
  release: undefined,
  remembered: undefined,
});

describe('an update claims a place', () => {
  it.each<{
    what: string;
    before?: readonly Taint[];
    after: readonly Taint[];
    oldLabels?: StringMap;
    labels?: StringMap;
    spec?: Partial<TaintPolicySpec>;
    requester?: Requester;
    claims: readonly Taint[];
  }>([
    { what: 'for a taint that it adds', after: [out], claims: [out] },
    { what: 'for several together', after: [out, repair], claims: [out, repair] },
    { what: 'and none for one that is there', before: [out], after: [out], claims: [] },
    { what: 'nor for another value', before: [repair], after: [{ ...repair, value: 'fan' }], claims: [] },
    { what: 'nor for a further one on such a node', before: [out], after: [out, repair], claims: [] },
    { what: 'nor for one that goes', before: [out], after: [], claims: [] },
    { what: 'nor for another effect', after: [{ ...out, effect: 'NoSchedule' }], claims: [] },
    {
      what: 'but for another effect that becomes NoExecute',
      before: [{ ...out, effect: 'NoSchedule' }],
      after: [out],
      claims: [out],
    },
    { what: 'nor for a taint that no rule means', after: [{ key: 'other', effect: 'NoExecute' }], claims: [] },
    {
      what: 'nor where the rule means another effect',
      after: [out],
      spec: {
        taints: [
          { key: 'example.com/*', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoExecute' },
        ],
      },
      claims: [],
    },
    {
      what: 'nor for a taint of the life cycle by a pattern',
      after: [unreachable],
      spec: { taints: [{ key: '*' }] },
      claims: [],
    },
    {
      what: 'nor by its name: a node has to be given up',
      after: [unreachable],
      spec: { taints: [{ key: unreachable.key }, { key: 'a' }] },
      claims: [],
    },
    {
      what: 'nor by somebody who is exempt',
      after: [out],
      spec: { exempt: { groups: ['admins'] } },
      requester: ADMIN,
      claims: [],
    },
    {
      what: 'but by others',
      after: [out],
      spec: { exempt: { groups: ['admins'] } },
      claims: [out],
    },
    {
      what: 'nor on a node that the policy is not for',
      after: [out],
      spec: { nodeSelector: { matchLabels: { pool: 'a' } } },
      claims: [],
    },
    {
      what: 'but on one that leaves it in the same update',
      after: [out],
      oldLabels: { pool: 'a' },
      labels: {},
      spec: { nodeSelector: { matchLabels: { pool: 'a' } } },
      claims: [out],
    },
    { what: 'at once, by a pattern too', after: [out], spec: { taints: [{ key: 'example.com/*' }] }, claims: [out] },
  ])('$what', ({ before = [], after, oldLabels = {}, labels = oldLabels, spec, requester = DEVELOPER, claims }) => {
    const update = { requester, oldNode: view(before, oldLabels), node: view(after, labels) };
    expect(budgetClaimsOf(update, [policyOf(spec)]).flatMap(({ taints }) => taints)).toEqual(claims);
  });
});

const policy = policyOf();
const NOW = 1_000_000;

function ledgerOf(nodes: Readonly<Record<string, number>>, of = policy): Ledger {
  return new Map([[of.name, { id: budgetId(of), nodes: new Map(Object.entries(nodes)) }]]);
}
const placesIn = (ledger: Ledger, of = policy) => [...(ledger.get(of.name)?.nodes.keys() ?? [])];
const claimBy = (of: BudgetPolicy): Claim => ({ policy: of, taints: [out] });
const resultsOf = (settled: readonly Settled[]) => settled.map(({ result }) => result);

describe('a claim is settled', () => {
  it('while there are places, and then refused', () => {
    let ledger = ledgerOf({});
    const results = ['n1', 'n2', 'n3'].map((node) => {
      const done = settle(ledger, node, [claimBy(policy)], NOW);
      ledger = done.ledger;
      return resultsOf(done.settled);
    });
    expect(results).toEqual([['granted'], ['granted'], ['full']]);
    expect(placesIn(ledger)).toEqual(['n1', 'n2']);
  });

  it('for a node that has a place, which is renewed unless it is new', () => {
    const ledger = ledgerOf({ n1: NOW - 60_000, n2: NOW - 1_000 });
    expect(settle(ledger, 'n2', [claimBy(policy)], NOW)).toMatchObject({ settled: [{ result: 'granted' }] });
    expect(settle(ledger, 'n2', [claimBy(policy)], NOW).ledger).toBe(ledger);
    expect(
      settle(ledger, 'n1', [claimBy(policy)], NOW)
        .ledger.get('p')
        ?.nodes.get('n1'),
    ).toBe(NOW);
  });

  it('by nobody where nodes were not counted, or by another rule', () => {
    for (const ledger of [
      new Map(),
      ledgerOf({}, policyOf({ nodeSelector: { matchLabels: { a: 'b' } } })),
    ] as Ledger[]) {
      const { settled, ledger: after } = settle(ledger, 'n1', [claimBy(policy)], NOW);
      expect(resultsOf(settled)).toEqual(['uncounted']);
      expect(after).toBe(ledger);
    }
  });

  it('for all policies or for none', () => {
    const wide = policyOf({ noExecute: { maxNodes: 9 } }, 'wide');
    const ledger = new Map([...ledgerOf({ n1: 0, n2: 0 }), ...ledgerOf({}, wide)]);
    const { settled, ledger: after } = settle(ledger, 'n3', [claimBy(wide), claimBy(policy)], NOW);
    expect(resultsOf(settled)).toEqual(['granted', 'full']);
    expect(after).toBe(ledger);
  });

  it('and one in mode Audit stands in nobody’s way', () => {
    const audit = policyOf({ mode: 'Audit' }, 'audit');
    const wide = policyOf({ noExecute: { maxNodes: 9 } }, 'wide');
    const ledger = new Map([...ledgerOf({ n1: 0, n2: 0 }, audit), ...ledgerOf({}, wide)]);
    const { settled, ledger: after } = settle(ledger, 'n3', [claimBy(wide), claimBy(audit)], NOW);
    expect(resultsOf(settled)).toEqual(['granted', 'full']);
    expect(placesIn(after, wide)).toEqual(['n3']);
    expect(placesIn(after, audit)).toEqual(['n1', 'n2']);
  });
});

describe('places are counted again', () => {
  it('with the nodes that a watch shows, without those that are free', () => {
    const before = ledgerOf({ n1: 0, n2: NOW - GRACE_MS }).get('p');
    const after = recount(policy, before, new Set(['n3']), new Set(['n1']));
    expect([...after.nodes]).toEqual([
      ['n2', NOW - GRACE_MS],
      ['n3', 0],
    ]);
  });

  it('and not beyond the budget', () => {
    const { nodes } = recount(policy, undefined, new Set(['n1', 'n2', 'n3', 'n4']), new Set());
    expect([...nodes.keys()]).toEqual(['n1', 'n2']);
  });

  it('and stay the very same where they are right', () => {
    const before = ledgerOf({ n1: 5 }).get('p');
    expect(recount(policy, before, new Set(['n1']), new Set(['n9']))).toBe(before);
  });

  it('anew where the policy counts something else', () => {
    const other = policyOf({ nodeSelector: { matchLabels: { a: 'b' } } });
    const before = ledgerOf({ n1: NOW }, other).get('p');
    expect(recount(policy, before, new Set(), new Set())).toEqual({
      id: budgetId(policy),
      nodes: new Map([['n1', NOW]]),
    });
  });

  it('free those alone that nobody was given lately, and that carry nothing', () => {
    const places = ledgerOf({ old: NOW - GRACE_MS, carrying: 0, found: 0, fresh: NOW - GRACE_MS + 1 }).get('p');
    if (!places) throw new Error('no places');
    const carriers = new Set(['carrying']);
    expect(doubtful(places, carriers, NOW)).toEqual(['old', 'found']);
    expect(doubtfulInMs(ledgerOf({ fresh: NOW - GRACE_MS + 7 }).get('p') ?? places, carriers, NOW)).toBe(7);
    expect(doubtfulInMs(ledgerOf({ carrying: 0 }).get('p') ?? places, carriers, NOW)).toBeUndefined();
  });
});

describe('however updates come', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  type Step =
    | { readonly kind: 'ask'; readonly node: string; readonly lands: boolean }
    | { readonly kind: 'clear'; readonly node: string }
    | { readonly kind: 'recount' }
    | { readonly kind: 'wait'; readonly ms: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), node: fc.constantFrom(...names), lands: fc.boolean() }),
    fc.record({ kind: fc.constant('clear' as const), node: fc.constantFrom(...names) }),
    fc.record({ kind: fc.constant('recount' as const) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 60_000 }) }),
  );

  it('never do more nodes carry the taint than may, and no place is lost for good', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let ledger = ledgerOf({});
        let now = NOW;
        const carriers = new Set<string>();
        const count = () => {
          const before = ledger.get('p');
          if (!before) return;
          const free = doubtful(before, carriers, now).filter((node) => !carriers.has(node));
          ledger = new Map([['p', recount(policy, before, carriers, new Set(free))]]);
        };
        for (const one of steps) {
          if (one.kind === 'wait') now += one.ms;
          else if (one.kind === 'clear') carriers.delete(one.node);
          else if (one.kind === 'recount') count();
          else if (!carriers.has(one.node)) {
            const done = settle(ledger, one.node, [claimBy(policy)], now);
            ledger = done.ledger;
            if (one.lands && done.settled[0]?.result === 'granted') carriers.add(one.node);
          }
          expect(carriers.size).toBeLessThanOrEqual(policy.noExecute.maxNodes);
        }
        now += GRACE_MS;
        count();
        expect(new Set(placesIn(ledger))).toEqual(carriers);
      }),
    );
  });
});

describe('what is said', () => {
  const full: Settled = { ...claimBy(policy), result: 'full', nodes: ['n1', 'n2'] };
  const uncounted: Settled = { ...claimBy(policy), result: 'uncounted', why: 'its leader has not counted them yet' };

  it.each<{ what: string; settled: Settled; evicted?: { atOnce: number; later: number }; message: string }>([
    {
      what: 'of a budget that is spent',
      settled: full,
      evicted: { atOnce: 12, later: 3 },
      message:
        'node n3 may not get taint example.com/out:NoExecute now: TaintPolicy "p" (spec.noExecute, mode Deny) lets 2 nodes carry such a taint at a time, ' +
        'and n1, n2 do, or may be about to. It would evict 12 pods from this node, and 3 more once their tolerationSeconds are over. ' +
        'Take the taint off another node first: its place is free 45 s after it was taken at the earliest.',
    },
    {
      what: 'where pods cannot be counted',
      settled: full,
      message:
        'node n3 may not get taint example.com/out:NoExecute now: TaintPolicy "p" (spec.noExecute, mode Deny) lets 2 nodes carry such a taint at a time, ' +
        'and n1, n2 do, or may be about to. Take the taint off another node first: its place is free 45 s after it was taken at the earliest.',
    },
    {
      what: 'where nodes cannot be counted',
      settled: uncounted,
      evicted: { atOnce: 1, later: 0 },
      message:
        'node n3 may not get taint example.com/out:NoExecute now: TaintPolicy "p" (spec.noExecute, mode Deny) lets 2 nodes carry such a taint at a time, ' +
        'and taintkeeper cannot count them: its leader has not counted them yet. It would evict 1 pod from this node. Try again.',
    },
  ])('$what', ({ settled, evicted, message }) => {
    const decision = withBudget(allow(), 'n3', [settled], evicted);
    expect(decision).toMatchObject({ verdict: 'deny', message });
    expect(decision.violations).toMatchObject([{ outcome: 'postponed', field: 'spec.noExecute' }]);
  });

  it.each<{ what: string; settled: Settled; outcome: string; warning: string }>([
    {
      what: 'in mode Audit',
      settled: { ...full, policy: policyOf({ mode: 'Audit' }) },
      outcome: 'over-budget',
      warning: 'TaintPolicy p, Audit: more than 2 nodes carry a NoExecute taint',
    },
    {
      what: 'where failurePolicy is Ignore',
      settled: { ...uncounted, policy: policyOf({ failurePolicy: 'Ignore' }) },
      outcome: 'uncounted',
      warning: 'TaintPolicy p: nodes with a NoExecute taint were not counted',
    },
  ])('of what passes: $what', ({ settled, outcome, warning }) => {
    const decision = withBudget(allow([], ['before']), 'n3', [settled], undefined);
    expect(decision).toMatchObject({ verdict: 'allow', warnings: ['before', warning] });
    expect(decision.violations).toMatchObject([{ outcome }]);
  });

  it('of what is granted: nothing', () => {
    const decision = allow();
    expect(withBudget(decision, 'n3', [{ ...claimBy(policy), result: 'granted' }], undefined)).toBe(decision);
  });
});
