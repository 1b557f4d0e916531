import fc from 'fast-check';
import { expect, it } from 'vitest';
import { evictingTaints } from '../../../src/evictions/eviction-pace.ts';
import { parseRemembered } from '../../../src/judge/memory.ts';
import { judgeNode } from '../../../src/judge/node.ts';
import type { Loss, NodeDrift } from '../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { isRequiredTaint, parseRemoved, requiredTaints, satisfies } from '../../../src/judge/removal.ts';
import { formatTaint, identity, sameTaint, type Taint, valuesOf } from '../../../src/kubernetes/taint.ts';
import { isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import * as generate from '../admission/generators.ts';
import { policySet } from '../policy/policies.ts';
import { listedBy, withEstablished } from './established.ts';
import { driftAmong } from './node-drifts.ts';

const RUNS = { numRuns: 500 };

/** What a node remembers has often to do with what it carries, and may be anything at all: whoever may write the node can write it. */
const memory = fc.array(
  fc.oneof(
    generate.taints.map((taints) => taints.map(formatTaint).join(', ')),
    fc.constantFrom('rubbish', 'dedicated=x:NoSchedule,dedicated=y:NoSchedule'),
  ),
  { maxLength: 2 },
);

const cases = fc
  .record({ state: generate.nodeState, memory, policies: generate.taintPolicies })
  .map(({ state, memory: texts, policies }) => ({
    node: { name: 'n1', ...state, remembered: texts.length === 0 ? undefined : texts.join(',') },
    policies: policySet({ taint: policies }),
  }));

/** Holds whatever the node and the policies are. */
function always(property: (node: NodeView, policies: PolicySet) => void): void {
  fc.assert(
    fc.property(cases, ({ node, policies }) => property(node, policies)),
    RUNS,
  );
}

/** The records list what the annotation does, and taints of some values. */
const circumstancesOf = (node: NodeView) => {
  const isListed = listedBy(node.remembered);
  return { isRecorded: (taint: Taint) => isListed(taint) || taint.value === 'x' };
};

const driftOf = (node: NodeView, { taintPolicies }: PolicySet) =>
  driftAmong(node, taintPolicies, circumstancesOf(node));
const repaired = (node: NodeView, policies: PolicySet): NodeView => ({ ...node, ...driftOf(node, policies).desired });
const isRepaired = ({ hindrance }: Loss) => hindrance === undefined;

it('a node that was repaired needs no other repair', () => {
  always((node, policies) => {
    expect(driftOf(repaired(node, policies), policies).desired).toBeUndefined();
  });
});

it('a loss that is left alone is found again', () => {
  always((node, policies) => {
    const left = ({ losses }: NodeDrift) => losses.filter((loss) => !isRepaired(loss));
    const again = driftOf(repaired(node, policies), policies);
    expect(left(again)).toEqual(expect.arrayContaining(left(driftOf(node, policies))));
  });
});

it('a repair passes admission as it is, whoever sends it', () => {
  const requester = { username: 'nobody', groups: [] };
  always((oldNode, policies) => {
    const update = {
      operation: 'UPDATE',
      requester,
      oldNode: withEstablished(oldNode),
      node: repaired(oldNode, policies),
    } as const;
    expect(judgeNode({ ...update, phase: 'mutate' }, policies).verdict).toBe('allow');
    expect(judgeNode({ ...update, phase: 'validate' }, policies).verdict).toBe('allow');
  });
});

it('a repair keeps every taint in its place, but for those that are put back', () => {
  always((node, policies) => {
    const { losses, desired } = driftOf(node, policies);
    const lost = losses.filter(isRepaired).map(({ taint }) => identity(taint));
    const others = ({ taints }: Pick<NodeView, 'taints'>) =>
      taints.map((taint) => (lost.includes(identity(taint)) ? identity(taint) : taint));
    const { taints } = desired ?? node;
    expect(others({ taints: taints.slice(0, node.taints.length) })).toEqual(others(node));
    for (const taint of taints.slice(node.taints.length)) expect(lost).toContain(identity(taint));
  });
});

it('a repair puts back what is Present or remembered, and nothing else', () => {
  always((node, policies) => {
    const { desired } = driftOf(node, policies);
    const present = requiredTaints(node.labels, policies.taintPolicies).map(({ taint }) => taint);
    const declared = [...present, ...parseRemembered(node.remembered)].map(formatTaint);
    const added = (desired?.taints ?? node.taints).filter((taint) => !node.taints.includes(taint));
    for (const taint of added) expect(declared).toContain(formatTaint(taint));
  });
});

it('a node whose turn it is not gets all but what evicts pods, and that in its turn', () => {
  always((node, { taintPolicies }) => {
    const before = driftAmong(node, taintPolicies, { hasTurn: false });
    const now = { ...node, ...before.desired };
    expect(evictingTaints(node.taints, now.taints)).toEqual([]);
    const paced = before.losses.filter(({ hindrance }) => hindrance === 'paced');
    expect(paced.every(({ taint }) => taint.effect === 'NoExecute')).toBe(true);
    const inTurn = driftAmong(now, taintPolicies);
    expect(evictingTaints(now.taints, inTurn.desired?.taints ?? now.taints).length > 0).toBe(paced.length > 0);
    const texts = (taints: readonly Taint[]) => taints.map(formatTaint).toSorted();
    const atOnce = driftAmong(node, taintPolicies).desired;
    expect(texts(inTurn.desired?.taints ?? now.taints)).toEqual(texts(atOnce?.taints ?? node.taints));
  });
});

it('every required taint that a node lacks is a loss, but one that comes and goes by itself or was removed with leave, and each policy names a lost taint once', () => {
  let excused = 0;
  always((node, policies) => {
    const { losses, removed, desired } = driftOf(node, policies);
    const recorded = parseRemoved(node.removed).map(formatTaint);
    for (const { policy, taint } of removed) {
      excused++;
      expect(policy.exemptsAnybody).toBe(true);
      expect(recorded.some((text) => text.startsWith(taint.key) && text.endsWith(taint.effect))).toBe(true);
      expect(satisfies(valuesOf((desired ?? node).taints), { taint, anyValue: false, mayEvict: false })).toBe(false);
    }
    const carried = valuesOf(node.taints);
    for (const { policy, taint, anyValue, mayEvict } of requiredTaints(node.labels, policies.taintPolicies)) {
      const found = losses.filter((loss) => loss.policy === policy && sameTaint(loss.taint, taint));
      const want = { taint, anyValue, mayEvict };
      const isRecorded = parseRemoved(node.removed).some((one) => isRequiredTaint(one, want));
      const isExcused = policy.exemptsAnybody && isRecorded;
      const isMissed = !satisfies(carried, want) && !isTransientTaintKey(taint.key) && !isExcused;
      expect(found).toHaveLength(isMissed ? 1 : found.length);
    }
    const named = losses.map(({ policy, taint }) => `${policy.name} ${identity(taint)}`);
    expect(named).toEqual([...new Set(named)]);
  });
  expect(excused).toBeGreaterThan(RUNS.numRuns / 50);
});

it('nothing is put back where all policies are in mode Audit, or where everything is contested', () => {
  always((node, policies) => {
    const audit = policies.taintPolicies.map((policy) => ({ ...policy, mode: 'Audit' as const }));
    for (const drift of [
      driftAmong(node, audit),
      driftAmong(node, policies.taintPolicies, { isContested: () => true }),
    ]) {
      expect(drift.losses.filter(isRepaired)).toEqual([]);
      expect(drift.desired?.taints ?? node.taints).toBe(node.taints);
    }
  });
});
