import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  isRemovableByAnnotation,
  isRemovalAllowed,
  isRemovalNamed,
  isRemovalNoted,
  isRequiredRemovalNamed,
  parseAllowedRemovals,
} from '../../../src/judge/allow-removal.ts';
import { isRequiredTaint, requiredTaints, satisfies } from '../../../src/judge/declared-taints.ts';
import { establishedIn, isKept, NONE_ESTABLISHED } from '../../../src/judge/node-record.ts';
import { formatTaint, identity, removedTaints, type Taint, valuesOf } from '../../../src/kubernetes/taint.ts';
import { ONCE_ESTABLISHED, type PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { type NodeLife, nodeLife, settle } from './node-life.ts';
import { DEVELOPER } from './node-updates.ts';

const OWNER = { username: 'owner', groups: [] };
const RUNS = { numRuns: 1_000 };

// Of each kind one, so that they meet often.
const KEYS = ['dedicated', 'example.com/a'] as const;
const key = fc.constantFrom(...KEYS);
const value = fc.constantFrom('', 'x', 'y');
const effect = fc.constant('NoSchedule' as const);
const restrict = fc.constantFrom<TaintRule['restrict']>(['Removal'], ['Removal', 'Addition']);

const taint: fc.Arbitrary<Taint> = fc.record({ key, value, effect });
const taints = fc.uniqueArray(taint, { selector: identity, maxLength: 2 });
const rule: fc.Arbitrary<TaintRule> = fc.oneof(
  fc.record<TaintRule>({ key, value, restrict }, { requiredKeys: ['key', 'restrict'] }),
  fc.record<TaintRule>({ key: fc.constantFrom('*', 'example.com/*'), restrict }),
  fc.record<TaintRule>(
    { key, value, effect, ensure: fc.constant('Always' as const), restrict },
    { requiredKeys: ['key', 'effect', 'ensure'] },
  ),
);
const spec: fc.Arbitrary<TaintPolicySpec> = fc.record(
  {
    mode: fc.constantFrom('Restore', 'Restore', 'Deny'),
    taints: fc.uniqueArray(rule, {
      minLength: 1,
      maxLength: 2,
      // A policy that requires two values for one required taint is refused.
      selector: (one) => (one.ensure === undefined ? JSON.stringify(one) : one.key),
    }),
    exempt: fc.constant({ users: [OWNER.username] }),
    removalByAnnotation: fc.constantFrom('Allowed', 'Forbidden'),
  },
  { requiredKeys: ['mode', 'taints'] },
);
/**
 * Whether no value of a taint is required while policies require, or protect, another one: they contradict each other then, and a record lists
 * a taint with one value.
 */
function agree({ taintPolicies }: PolicySet): boolean {
  const required = requiredTaints({}, taintPolicies).filter(({ anyValue }) => !anyValue);
  return required.every(({ taint: { value: required = '', ...one } }) =>
    ['', 'x', 'y'].every(
      (other) =>
        other === (required ?? '') ||
        taintPolicies.every(
          (policy) => policy.removalRestrictedBy({ ...one, value: other }, ONCE_ESTABLISHED) === undefined,
        ),
    ),
  );
}

const policies = fc
  .dictionary(fc.constantFrom('p', 'q'), spec, { minKeys: 1, noNullPrototype: true })
  .filter((specs) => agree(policySet({ taint: specs })));

const announcement = fc.option(
  fc
    .uniqueArray(
      fc.oneof(
        taint.map(formatTaint),
        key.map((one) => `${one}:NoSchedule`),
      ),
      { minLength: 1, maxLength: 2 },
    )
    .map((entries) => entries.join(', ')),
  { nil: undefined },
);
const change = fc.oneof(
  fc.record({ taints }),
  fc.record({ allowRemoval: announcement }),
  fc.record({ taints, allowRemoval: announcement }),
);

/** Users send updates; the others do what they do at any time, some steps of it after the next update only. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('update' as const), by: fc.constantFrom(OWNER, DEVELOPER), change }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('bypass' as const), change }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('establish' as const, 'write' as const, 'spread' as const, 'repair' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'stop' as const, 'start' as const) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** What anybody can know who watches all that happens: to it, what the leader does is compared. */
interface Witness {
  /** Taints that the node had by updates. */
  readonly had: Set<string>;
  /** Taints that replicas have seen listed while the node carried them, and that were not removed with permission. */
  readonly kept: Map<string, Taint>;
  /** Taints that were removed with permission, as the leader knows, or is to learn. */
  readonly gone: Map<string, { readonly taint: Taint; readonly mayBeAnnounced: boolean; isRecorded: boolean }>;
  /** Required taints, by their identity, that were removed with permission. */
  readonly excused: Set<string>;
}

function follow(life: NodeLife, { taintPolicies }: PolicySet) {
  const required = requiredTaints({}, taintPolicies);
  const witness: Witness = {
    had: new Set(life.node.taints.map(formatTaint)),
    kept: new Map(),
    gone: new Map(),
    excused: new Set(),
  };
  const { had, kept, gone, excused } = witness;
  const isNamed = (taint: Taint) => isRemovalNamed(parseAllowedRemovals(life.node.allowRemoval), taint);
  const isNoted = (taint: Taint) => isRemovalNoted(parseAllowedRemovals(life.node.allowRemoval), taint);
  /** Whether an entry of the annotation is enough for the removal of the taint, as of now. */
  function announceable(): (taint: Taint) => boolean {
    const isRecorded = establishedIn(life.record ?? { taints: [] });
    const isKnown = new Set(kept.keys());
    const isListed = (taint: Taint) => isKnown.has(formatTaint(taint)) || isRecorded(taint);
    return (taint) => isRemovableByAnnotation(taint, taintPolicies, isListed);
  }

  /**
   * What entries of the annotation mean to the leader, which sees the node now.
   * @param inOneStep the taints that the last update removed as it wrote their entries
   */
  function heed(inOneStep: readonly Taint[], mayBeAnnounced = announceable()): void {
    if (!life.isLed) return;
    const allowed = parseAllowedRemovals(life.node.allowRemoval);
    const carried = valuesOf(life.node.taints);
    const before = [...kept.values()];
    const isNew = ({ anyValue, taint }: { readonly anyValue: boolean; readonly taint: Taint }) =>
      inOneStep.some((one) => isRequiredTaint(one, { taint, anyValue }));
    for (const [text, taint] of kept) {
      const isCarried = carried.get(identity(taint)) === (taint.value ?? '');
      const isPermitted = (isNamed(taint) && mayBeAnnounced(taint)) || isNew({ taint, anyValue: false });
      if (!isCarried && isPermitted) kept.delete(text);
    }
    for (const declared of required) {
      if (satisfies(carried, declared)) continue;
      const meant = [declared.taint, ...before.filter((one) => isRequiredTaint(one, declared))];
      const isAnnounced = isRequiredRemovalNamed(allowed, declared) && meant.some(mayBeAnnounced);
      if (isAnnounced || isNew(declared)) excused.add(identity(declared.taint));
    }
  }

  /** A removal is over once the leader sees the node carry the taint. */
  function noticeCarried(): void {
    if (!life.isLed) return;
    const carried = valuesOf(life.node.taints);
    for (const declared of required) if (satisfies(carried, declared)) excused.delete(identity(declared.taint));
  }

  function changed(before: NodeLife['node'], mayBeAnnounced: (taint: Taint) => boolean, isAsked: boolean): void {
    const removed = removedTaints(before.taints, life.node.taints);
    const allowedBefore = parseAllowedRemovals(before.allowRemoval);
    for (const taint of life.node.taints) had.add(formatTaint(taint));
    for (const taint of removedTaints(life.node.taints, before.taints)) {
      for (const [text, one] of gone) if (identity(one.taint) === identity(taint)) gone.delete(text);
    }
    noticeCarried();
    if (isAsked) {
      const isListed = establishedIn(life.seen ?? { taints: [] });
      for (const taint of removed) {
        if (!taintPolicies.some((policy) => policy.removalRestrictedBy(taint, isListed) !== undefined)) continue;
        kept.delete(formatTaint(taint));
        // Where the annotation gives no permission, only a leader that watches learns of it, and not where an entry stood before that the
        // leader has not deleted yet.
        const isSilent = !life.isLed || isRemovalNoted(allowedBefore, taint);
        if (isSilent && !mayBeAnnounced(taint)) continue;
        gone.set(formatTaint(taint), { taint, mayBeAnnounced: mayBeAnnounced(taint), isRecorded: false });
        for (const declared of required) {
          const isMissing = !satisfies(valuesOf(life.node.taints), declared);
          if (isMissing && isRequiredTaint(taint, declared)) excused.add(identity(taint));
        }
      }
    }
    heed(
      removed.filter((taint) => isNoted(taint) && !isRemovalNoted(allowedBefore, taint)),
      mayBeAnnounced,
    );
  }

  function repaired(added: readonly Taint[]): void {
    for (const taint of added) {
      const text = formatTaint(taint);
      const isRequired = required.some((declared) => isRequiredTaint(taint, declared));
      expect(had.has(text) || isRequired, `${text} was never there`).toBe(true);
      // With whatever value, where a policy requires it with any: but another one that was lost before may come back.
      const isFree = required.some((declared) => declared.anyValue && isRequiredTaint(taint, declared));
      const isMeant =
        establishedIn(life.record ?? { taints: [] })(taint) ||
        required.some((declared) => !declared.anyValue && isRequiredTaint(taint, declared));
      const isAway = isFree && !isMeant && excused.has(identity(taint));
      const isBack = (one: Taint) => isAway && identity(one) === identity(taint);
      const undone = [...gone].filter(([other, one]) => other === text || isBack(one.taint)).map(([other]) => other);
      expect(undone, `${text} comes back`).toEqual([]);
    }
    noticeCarried();
  }

  function spread(): void {
    life.spread();
    const carried = new Set(life.node.taints.map(formatTaint));
    for (const taint of (life.seen?.taints ?? []).filter(isKept)) {
      if (carried.has(formatTaint(taint))) kept.set(formatTaint(taint), taint);
    }
  }

  /** All that is only known to the leader is lost. */
  function ended(): void {
    for (const [text, { mayBeAnnounced, isRecorded }] of gone) {
      if (!isRecorded && !mayBeAnnounced) gone.delete(text);
    }
  }

  function began(): void {
    for (const [text, { taint, isRecorded }] of gone) if (!isRecorded && !isNamed(taint)) gone.delete(text);
    for (const taint of life.record?.taints ?? []) if (!isKept(taint)) excused.add(identity(taint));
    noticeCarried();
    heed([]);
  }

  function written(): void {
    if (life.isLed) for (const one of gone.values()) one.isRecorded = true;
  }

  function take(one: Step): void {
    const before = life.node;
    const mayBeAnnounced = announceable();
    switch (one.kind) {
      case 'update': {
        if (!life.update(one.change, one.by)) break;
        const lost = removedTaints(before.taints, life.node.taints).filter((taint) => kept.has(formatTaint(taint)));
        const allowed = parseAllowedRemovals(before.allowRemoval);
        if (one.by === DEVELOPER) expect(lost.every((taint) => isRemovalAllowed(allowed, taint))).toBe(true);
        changed(before, mayBeAnnounced, true);
        break;
      }
      case 'bypass':
        life.bypass(one.change);
        changed(before, mayBeAnnounced, false);
        break;
      case 'establish':
        life.establish();
        break;
      case 'write':
        if (life.write()) written();
        break;
      case 'spread':
        spread();
        break;
      case 'repair':
        repaired(life.repair() ?? []);
        break;
      case 'settle':
        if (life.isLed) finish();
        break;
      case 'stop':
        life.stopLeader();
        ended();
        break;
      case 'restart':
        life.stopLeader();
        ended();
        life.startLeader();
        began();
        break;
      case 'start':
        if (life.isLed) break;
        life.startLeader();
        began();
        break;
      default:
        one satisfies never;
    }
  }

  function finish(): void {
    settle(life, repaired);
    written();
    spread();
    const { node } = life;
    const carried = valuesOf(node.taints);
    const isEstablished = life.record ? establishedIn(life.record) : NONE_ESTABLISHED;
    const isHeld = ({ key, effect }: Taint) => {
      const present = carried.get(identity({ key, effect }));
      return (
        present !== undefined &&
        taintPolicies.some((policy) => policy.removalRestrictedBy({ key, effect, value: present }, isEstablished))
      );
    };
    for (const taint of kept.values()) {
      const isRestored = taintPolicies.some(
        (policy) => policy.mode === 'Restore' && policy.removalRestrictedBy(taint, ONCE_ESTABLISHED),
      );
      const isThere = carried.get(identity(taint)) === taint.value || isHeld(taint);
      expect(isThere || !isRestored, `${formatTaint(taint)} stays lost`).toBe(true);
    }
    for (const declared of required) {
      const isThere = satisfies(carried, declared) || isHeld(declared.taint) || excused.has(identity(declared.taint));
      expect(isThere, `${formatTaint(declared.taint)} is required`).toBe(true);
    }
    // A record that lists a taint for one policy makes it established for another one, which is then named as well.
    // What is established is protected by patterns: an entry of the annotation may then be deleted.
    life.establish();
    settle(life, repaired);
    expect(life.node.taints).toBe(node.taints);
    const settled = life.node;
    // Nothing is left to do, nor for the next leader.
    life.stopLeader();
    life.startLeader();
    expect(settle(life)).toBe(0);
    expect(life.node).toBe(settled);
  }

  return { take, finish };
}

it('whatever happens to a node: what is lost comes back, what was removed with permission stays away, and then nothing is written', () => {
  fc.assert(
    fc.property(policies, taints, fc.array(step, { maxLength: 14 }), (specs, carried, steps) => {
      const set = policySet({ taint: specs });
      const life = nodeLife(set, carried);
      const { take, finish } = follow(life, set);
      for (const one of steps) take(one);
      take({ kind: 'start' });
      finish();
    }),
    RUNS,
  );
});
