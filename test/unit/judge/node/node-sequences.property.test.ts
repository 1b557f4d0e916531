import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALLOW_REMOVAL_LIFE_MS } from '../../../../src/judge/allow-removal.ts';
import { POLICY_GONE_MS } from '../../../../src/judge/ended-startup-taints.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { SETTLING_MS } from '../../../../src/judge/startup/reboot.ts';
import { REGISTRATION_MS } from '../../../../src/judge/startup/startup-step.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import { checkUntilAllOccurred } from '../../../rounds.ts';
import {
  type Declared,
  declared,
  entriesOf,
  identityOf,
  isGivenUp,
  isKeptOff,
  isMet,
  isStartupKeptOff,
  setsAgain,
  taintsAfterReboot,
  textOf,
  usesRecord,
  valueToSet,
} from './declared-state.ts';
import {
  elapse,
  lead,
  type ModelCluster,
  type ModelLeader,
  type ModelWrite,
  type NodeChange,
  newCluster,
  newLeader,
  reboot,
  register,
  update,
  withNode,
  withoutNode,
} from './model-cluster.ts';
import {
  type Action,
  compiled,
  DOMAIN,
  KUBELET,
  NOT_READY,
  otherWriter,
  type Policies,
  type Registration,
  registration,
  taintPolicies,
  withDeadlines,
} from './node-sequences.ts';

/** Longer than everything that a leader waits for: two lives of an entry, and the window of a conflict. */
const QUIET_MS = 3 * ALLOW_REMOVAL_LIFE_MS;
/** A taint that is missing and one that can be removed, two entries, and what another write of the leader made possible. */
const MAX_QUIET_WRITES = 5;

interface World {
  readonly cluster: ModelCluster;
  readonly specs: Policies;
  /** Undefined while no replica leads. */
  readonly leader: ModelLeader | undefined;
  readonly earlier: readonly ModelLeader[];
  /** The first taints of each node, as a stale cache has them. */
  readonly stale: ReadonlyMap<string, readonly Taint[]>;
  /** Since when an entry and its taint have stood together, by node and taint; and since when no policy has used the record of a boot, by node. */
  readonly standing: ReadonlyMap<string, number>;
}

/** What happens to the world, with what occurred. */
function act(world: World, one: Action, occurred: string[]): World {
  const { cluster } = world;
  switch (one.do) {
    case 'edit': {
      const before = cluster.nodes.get(one.node);
      if (!before) return world;
      const change = one.edit(before, world.stale.get(one.node) ?? []);
      const stored = update(cluster, one.by, before, change);
      if (!stored) {
        occurred.push('denied');
        return world;
      }
      occurred.push(...checkUpdate(world, one.by, before, stored));
      if (cluster.isWebhookUp) {
        checkStaysOff(world, before, stored);
        if (one.by !== KUBELET) checkEntriesEnd(world, before, stored, change);
      }
      return { ...world, cluster: withNode(cluster, stored) };
    }
    case 'register': {
      if (cluster.nodes.has(one.node)) return world;
      const stale = new Map(world.stale).set(one.node, one.change.taints ?? []);
      return { ...world, stale, cluster: register(cluster, one.by, one.node, one.change) };
    }
    case 'delete':
      return { ...world, cluster: withoutNode(cluster, one.node) };
    case 'reboot': {
      const before = cluster.nodes.get(one.node);
      return before ? { ...world, cluster: reboot(cluster, before, one.bootId) } : world;
    }
    case 'ready': {
      const others = [...cluster.ready].filter((name) => name !== one.node);
      return { ...world, cluster: { ...cluster, ready: new Set([...others, ...(one.isReady ? [one.node] : [])]) } };
    }
    case 'policies':
      return withPolicies(world, one.policies);
    case 'policy': {
      const { [one.name]: _, ...others } = world.specs;
      return withPolicies(world, one.spec === undefined ? others : { ...others, [one.name]: one.spec });
    }
    case 'webhook':
      return { ...world, cluster: { ...cluster, isWebhookUp: one.isUp } };
    case 'leader': {
      const earlier = world.leader ? [...world.earlier, world.leader] : world.earlier;
      return { ...world, earlier, leader: one.next === 'none' ? undefined : newLeader(cluster.policies) };
    }
    case 'time':
    case 'oppose': {
      const other = one.do === 'oppose' ? one.other : undefined;
      const after = elapse(cluster, world.leader ? [world.leader] : [], one.ms, other);
      const [leader] = after.leaders;
      // What the other writer sets may stand from the beginning.
      const since = other ? cluster.now : after.cluster.now;
      return checkWrites({ ...world, leader }, after.writes, after.cluster, occurred, since);
    }
  }
}

function withPolicies(world: World, specs: Policies): World {
  const policies = compiled(specs);
  return {
    ...world,
    specs,
    cluster: { ...world.cluster, policies },
    leader: world.leader && { ...world.leader, policies },
  };
}

/** The leader sees each change. */
function react(world: World, occurred: string[]): World {
  if (!world.leader) return checkWrites(world, [], world.cluster, occurred);
  const { cluster, leader, writes } = lead(world.cluster, world.leader);
  return checkWrites({ ...world, leader }, writes, cluster, occurred);
}

/** No update loses what a policy protects, unless it is exempt or an earlier request allowed it. */
function checkUpdate({ cluster, specs }: World, by: Requester, before: StoredNode, stored: StoredNode): string[] {
  const { protectorsOf } = declared(specs, before.labels, stored.labels);
  const { required } = declared(specs, stored.labels);
  const occurred: string[] = [];
  for (const taint of before.taints) {
    if (stored.taints.some((one) => textOf(one) === textOf(taint))) continue;
    const isCorrected = required.some(
      (one) => !one.anyValue && identityOf(one.taint) === identityOf(taint) && isMet(one, stored.taints),
    );
    const isAllowed = entriesOf(before.allowRemoval).includes(textOf(taint));
    const forbidding = protectorsOf(taint).filter(
      ({ exempt, removalByAnnotation, mode }) =>
        (cluster.isWebhookUp || mode === 'Deny') &&
        !exempt?.users?.includes(by.username) &&
        !(isAllowed && removalByAnnotation !== 'Forbidden'),
    );
    if (!isCorrected) expect(forbidding, `${by.username} removed ${textOf(taint)}`).toEqual([]);
    if (protectorsOf(taint).length > 0) {
      occurred.push(isCorrected ? 'corrected' : isAllowed ? 'removed by an entry' : 'removed by exemption');
    }
  }
  return occurred;
}

/**
 * A required taint that a request could remove is not set again, by any leader. Unless the request also removed its entry, or the taint is a startup
 * taint as well and the node is registering, so that it may be set late.
 */
function checkStaysOff({ cluster, specs }: World, before: StoredNode, stored: StoredNode): void {
  if (before.labels !== stored.labels) return;
  const { required, untilReady } = declared(specs, stored.labels);
  const ended = entriesOf(before.allowRemoval).filter((entry) => !entriesOf(stored.allowRemoval).includes(entry));
  const isRegistering =
    cluster.now - (stored.createdAt ?? 0) < REGISTRATION_MS &&
    stored.taints.some((one) => textOf(one) === textOf(NOT_READY));
  const removed = before.taints.filter(
    (taint) =>
      required.some((one) => identityOf(one.taint) === identityOf(taint) && isMet(one, [taint])) &&
      !stored.taints.some((one) => identityOf(one) === identityOf(taint)) &&
      !(isRegistering && untilReady.some((one) => identityOf(one.taint) === identityOf(taint))) &&
      !ended.includes(textOf(taint)),
  );
  const led = lead(withNode(cluster, stored), newLeader(cluster.policies)).cluster.nodes.get(stored.name);
  for (const taint of removed) expect(led?.taints.map(identityOf)).not.toContain(identityOf(taint));
}

/** A request that sets a protected taint ends its entry. What a policy sets, because it begins to select the node, ends none. */
function checkEntriesEnd({ specs }: World, before: StoredNode, stored: StoredNode, { taints = [] }: NodeChange): void {
  const { protectorsOf } = declared(specs, before.labels, stored.labels);
  const had = before.taints.map(textOf);
  for (const taint of taints) {
    if (had.includes(textOf(taint)) || protectorsOf(taint).length === 0) continue;
    expect(entriesOf(stored.allowRemoval)).not.toContain(textOf(taint));
  }
}

/** The leader writes what has to change, and nothing else. */
function checkWrites(
  world: World,
  writes: readonly ModelWrite[],
  cluster: ModelCluster,
  occurred: string[],
  since = cluster.now,
): World {
  let { standing } = world;
  for (const write of writes) {
    const { before, sent, stored, at } = write;
    standing = standingNow(standing, write.cluster, world.specs, at);
    occurred.push(...reasonsFor(write, world.specs, standing));
    // The next write may be an hour later.
    if (stored) standing = standingNow(standing, withNode(write.cluster, stored), world.specs, at);
    // With the policies of the leader, admission has nothing to say about its write, except that entries end.
    expect(stored?.taints, `${JSON.stringify(before)} to ${JSON.stringify(sent)}`).toEqual(sent.taints);
  }
  for (const { conflicts } of world.leader?.memories.values() ?? []) if (conflicts.size > 0) occurred.push('conflict');
  return { ...world, cluster, standing: standingNow(standing, cluster, world.specs, since) };
}

const UNUSED_RECORD = 'unused record';

function standingNow(
  before: World['standing'],
  { nodes }: ModelCluster,
  specs: Policies,
  now: number,
): World['standing'] {
  return new Map(
    [...nodes.values()].flatMap(({ uid, taints, labels, allowRemoval, startupBoot }) => {
      const says = declared(specs, labels);
      const isUnused = startupBoot !== undefined && !usesRecord(says);
      const standing = [
        ...entriesOf(allowRemoval).filter((entry) => stands(entry, taints, says)),
        ...(isUnused ? [UNUSED_RECORD] : []),
      ];
      return standing.map((one): [string, number] => [`${uid} ${one}`, before.get(`${uid} ${one}`) ?? now]);
    }),
  );
}

/** Whether a node with these taints carries the one that the entry names: with any value, if a policy sets it with any value. */
function stands(entry: string, taints: readonly Taint[], says: Declared): boolean {
  return taints.some((taint) => {
    if (textOf(taint) === entry) return isOfPolicies(says, taint);
    const isOfEntry = entry.startsWith(`${taint.key}=`) || entry.startsWith(`${taint.key}:`);
    const isSameEffect = entry.endsWith(`:${taint.effect}`);
    return isOfEntry && isSameEffect && setWithAnyValue(says, taint);
  });
}

function setWithAnyValue({ required, startup }: Declared, taint: Taint): boolean {
  return [...required, ...startup].some((one) => one.anyValue && identityOf(one.taint) === identityOf(taint));
}

/** Whether policies protect the taint, or set it until the node is ready. */
function isOfPolicies({ protectorsOf, startup }: Declared, taint: Taint): boolean {
  return protectorsOf(taint).length > 0 || startup.some((one) => isMet(one, [taint]));
}

/** Why each part of a write has to be. Fails where there is no reason. */
function reasonsFor(
  { at, before, step, sent, cluster }: ModelWrite,
  specs: Policies,
  standing: World['standing'],
): string[] {
  const says = declared(specs, before.labels);
  const isReady = cluster.ready.has(before.name);
  const isStartup = (taint: Taint) =>
    says.untilReady.some((one) => isMet(one, [taint])) && says.protectorsOf(taint).length === 0;
  const texts = (taints: readonly Taint[]) => taints.map(textOf);
  const set = sent.taints.filter((taint) => !texts(before.taints).includes(textOf(taint)));
  const setIdentities = set.map(identityOf);
  const removed = before.taints.filter(
    (taint) => !texts(sent.taints).includes(textOf(taint)) && !setIdentities.includes(identityOf(taint)),
  );
  const ended = entriesOf(before.allowRemoval).filter((entry) => !entriesOf(sent.allowRemoval).includes(entry));
  const begun = entriesOf(sent.allowRemoval).filter((entry) => !entriesOf(before.allowRemoval).includes(entry));
  /** Whether each policy that protects the taint reads entries. */
  const canBeAllowed = (taint: Taint) =>
    says.protectorsOf(taint).every(({ removalByAnnotation }) => removalByAnnotation !== 'Forbidden');
  const boot = bootReason({ before, sent, at }, says, standing);
  const isAgain = (taint: Taint) =>
    boot === 'rebooted' && setsAgain(says, taint) && !isStartupKeptOff(says, taint, before.allowRemoval);
  const reasons = [
    ...(sent.startupBoot === before.startupBoot ? [] : [boot]),
    ...set.map((taint) => {
      if (valueToSet(says, taint, before) === (taint.value ?? '')) return 'set';
      const isNew = at - (before.createdAt ?? 0) < REGISTRATION_MS && texts(before.taints).includes(textOf(NOT_READY));
      if (isStartup(taint) && isAgain(taint)) return 'set again';
      const mayWait = !isReady && !isGivenUp(says, taint, before, at);
      return isStartup(taint) && isNew && mayWait ? 'set late' : undefined;
    }),
    ...removed.map((taint) => {
      if (isStartup(taint)) {
        const whenReady = isReady ? removalReason(taint, before, at, says) : undefined;
        return whenReady ?? (isGivenUp(says, taint, before, at) ? 'removed after the deadline' : undefined);
      }
      const wasAwaited = step.startup.removable.some((one) => identityOf(one.taint) === identityOf(taint));
      if (wasAwaited && says.protectorsOf(taint).length === 0) return 'removed after its policy';
      const isAllowed = entriesOf(before.allowRemoval).includes(textOf(taint)) && canBeAllowed(taint);
      return wasAwaited && isAllowed && ended.includes(textOf(taint)) ? 'removed by an entry of the leader' : undefined;
    }),
    ...begun.map((entry) => {
      const taint = before.taints.find((one) => textOf(one) === entry);
      const isOurs = step.startup.needEntry.some((one) => textOf(one.taint) === entry);
      return taint && isOurs && says.protectorsOf(taint).length > 0 && canBeAllowed(taint) ? 'allowed' : undefined;
    }),
    ...ended.map((entry) => {
      // It ends with a taint whose policy has ended.
      if (removed.some((taint) => textOf(taint) === entry && !isStartup(taint))) return 'entry ended';
      const since = standing.get(`${before.uid} ${entry}`);
      return since !== undefined && at - since >= ALLOW_REMOVAL_LIFE_MS ? 'entry ended' : undefined;
    }),
  ];
  const what = JSON.stringify({ at, before, sent, specs });
  if (boot === 'rebooted') {
    expect(sent.taints.map(identityOf), what).toEqual(
      expect.arrayContaining(taintsAfterReboot(says, before.allowRemoval).map(identityOf)),
    );
  }
  expect(reasons, what).not.toContain(undefined);
  expect(reasons.length, what).toBeGreaterThan(0);
  return reasons.flatMap((reason) => reason ?? []);
}

/**
 * Why the leader writes the boot of the node: once for each boot, with its time, or without a time where no boot was known before. It deletes one that no
 * policy uses.
 */
function bootReason(
  { before, sent, at }: Pick<ModelWrite, 'before' | 'sent' | 'at'>,
  says: Declared,
  standing: World['standing'],
): string | undefined {
  const { uid, bootId, startupBoot: known } = before;
  if (sent.startupBoot === undefined) {
    const since = standing.get(`${uid} ${UNUSED_RECORD}`);
    return since !== undefined && at - since >= POLICY_GONE_MS ? 'record deleted' : undefined;
  }
  if (!usesRecord(says) || bootId === undefined || known?.bootId === bootId) return undefined;
  const written = JSON.stringify(sent.startupBoot);
  if (known === undefined) return written === JSON.stringify({ bootId }) ? 'adopted' : undefined;
  return written === JSON.stringify({ bootId, setAt: at }) ? 'rebooted' : undefined;
}

/** Why a startup taint is removed from a node on which all is ready. What is ready may be of the boot before, for some time after a reboot. */
function removalReason(
  taint: Taint,
  { bootId, startupBoot, ready }: StoredNode,
  at: number,
  says: Declared,
): string | undefined {
  if (!setsAgain(says, taint) || bootId === undefined || startupBoot === undefined) return 'removed when ready';
  if (startupBoot.bootId !== bootId) return undefined;
  if (startupBoot.setAt === undefined) return 'removed when ready';
  return ready && at >= startupBoot.setAt + SETTLING_MS ? 'removed after a reboot' : undefined;
}

/** The Node as it ends, without the order of its taints, and how its annotation is spelled. */
const endOf = ({ labels, taints, allowRemoval, uid, startupBoot }: StoredNode) => ({
  ...{ uid, labels, entries: entriesOf(allowRemoval), boot: startupBoot?.bootId },
  taints: taints.map(textOf).sort(),
});

/**
 * The startup taints about which leaders may differ. Only a leader that saw the taint of an earlier policy knows whose it is, and only one that wrote an
 * entry knows that no user did. And one that waits, because another writer removed the taint repeatedly, may wait until the node is too old to get the
 * taint late.
 */
function undecided(
  { specs }: World,
  leaders: readonly ModelLeader[],
  { name, uid, labels, taints }: StoredNode,
): string[] {
  // A taint with another value than theirs is not that of the present policies.
  const present = declared(specs, labels)
    .untilReady.filter((one) => {
      const carried = taints.filter((taint) => identityOf(taint) === identityOf(one.taint));
      return carried.length === 0 || isMet(one, carried);
    })
    .map(({ taint }) => identityOf(taint));
  return leaders
    .flatMap(({ memories }) => memories.get(name) ?? [])
    .filter((memory) => memory.uid === uid)
    .flatMap(({ tracked, conflicts, changes }) => [
      ...changes.flatMap(({ taint, change }) => (change === 'allow' ? identityOf(taint) : [])),
      ...tracked.map(({ requirement }) => identityOf(requirement.taint)).filter((one) => !present.includes(one)),
      ...Array.from(conflicts.values(), ({ taint }) => identityOf(taint)).filter((one) => present.includes(one)),
    ]);
}

/** Only in the term in which a leader has deleted a record does it leave one that comes back: policies may have used that since. */
function withoutDeletedRecords(leader: ModelLeader): ModelLeader {
  const memories = [...leader.memories].map(
    ([name, memory]) => [name, { ...memory, unusedRecord: undefined }] as const,
  );
  return { ...leader, memories: new Map(memories) };
}

/** Every leader brings the nodes to one state, with few writes, and then writes nothing more. That state is what the policies declare. */
function checkEnd(world: World, occurred: string[]): void {
  const { cluster, specs, leader, earlier } = world;
  const present = [newLeader(cluster.policies), ...(leader ? [leader] : [])];
  // The product forgets at the end of a term. So an earlier memory need not have reasons, but it must not change the end.
  const leaders = [...present, ...earlier.slice(-2).map(withoutDeletedRecords)].map((one) => ({
    ...one,
    policies: cluster.policies,
    retryAt: new Map<string, number>(),
  }));
  const ends = leaders.map((one, index) => {
    const quiet = elapse(cluster, [one], QUIET_MS);
    const writes = index < present.length ? quiet.writes : [];
    checkWrites({ ...world, leader: one }, writes, quiet.cluster, occurred);
    // Each at its time: without a later event, nothing reminds the leader.
    const last = Math.max(0, ...quiet.writes.map(({ at }) => at));
    if (index === 0) expect(last).toBeLessThanOrEqual(cluster.now + ALLOW_REMOVAL_LIFE_MS);
    for (const name of cluster.nodes.keys()) {
      const writes = quiet.writes.filter(({ before }) => before.name === name);
      expect(writes.length, JSON.stringify(writes.map(({ before, sent }) => [before, sent]))).toBeLessThanOrEqual(
        MAX_QUIET_WRITES,
      );
    }
    expect(elapse(quiet.cluster, [newLeader(cluster.policies)], QUIET_MS).writes).toEqual([]);
    return quiet.cluster;
  });
  for (const node of cluster.nodes.values()) {
    const left = undecided(world, leaders, node);
    const [first, ...others] = ends.map(({ nodes }) => {
      const end = nodes.get(node.name) as StoredNode;
      return endOf({
        ...end,
        taints: end.taints.filter((taint) => !left.includes(identityOf(taint))),
        // The leader that removes such a taint also ends its entry.
        allowRemoval: entriesOf(end.allowRemoval)
          .filter((entry) => !left.includes(entry.replace(/=[^:]*/, '')))
          .join(),
      });
    });
    for (const other of others) expect(other).toEqual(first);
  }
  for (const end of ends) {
    for (const node of end.nodes.values()) {
      checkDeclared(node, specs, end);
      const { required } = declared(specs, node.labels);
      const missing = required.filter((one) => !isMet({ ...one, anyValue: true }, node.taints));
      const values = new Set(
        missing.filter((one) => !isKeptOff(one, node.allowRemoval)).map(({ taint }) => textOf(taint)),
      );
      if (values.has('dedicated=x:NoSchedule') && values.has('dedicated=y:NoSchedule')) occurred.push('values differ');
    }
  }
}

/** What a node is once all is quiet, whatever happened before. */
function checkDeclared(node: StoredNode, specs: Policies, { ready, now }: ModelCluster): void {
  const says = declared(specs, node.labels);
  const what = JSON.stringify({ node, specs });
  for (const { taint } of says.required) expect(valueToSet(says, taint, node), what).toBeUndefined();
  if (!usesRecord(says)) expect(node.startupBoot, what).toBeUndefined();
  else if (node.bootId !== undefined) expect(node.startupBoot?.bootId, what).toBe(node.bootId);
  for (const taint of node.taints) {
    const isProtected = says.protectorsOf(taint).length > 0;
    const isStartup = says.untilReady.some(
      (one) =>
        identityOf(one.taint) === identityOf(taint) &&
        (one.anyValue || (one.taint.value ?? '') === (taint.value ?? '')),
    );
    if (isStartup && !isProtected) {
      expect(ready.has(node.name), what).toBe(false);
      expect(isGivenUp(says, taint, node, now), what).toBe(false);
    }
    if (isOfPolicies(says, taint)) expect(entriesOf(node.allowRemoval), what).not.toContain(textOf(taint));
  }
}

it('whatever happens, the leader writes what has to change and nothing else, and every leader arrives at the same nodes', async () => {
  await checkUntilAllOccurred(
    fc.record({ policies: withDeadlines.taintPolicies, actions: withDeadlines.sequence, isLed: fc.boolean() }),
    ({ policies: specs, actions, isLed }) => {
      const occurred: string[] = [];
      const policies = compiled(specs);
      let world: World = {
        cluster: newCluster(policies),
        specs,
        leader: isLed ? newLeader(policies) : undefined,
        earlier: [],
        stale: new Map(),
        standing: new Map(),
      };
      for (const one of actions) world = react(act(world, one, occurred), occurred);
      checkEnd(world, occurred);
      return occurred;
    },
    {
      numRuns: 150,
      usualSeed: 55,
      all: [
        'denied',
        'corrected',
        'removed by an entry',
        'removed by exemption',
        'set',
        'set late',
        'removed when ready',
        'removed after the deadline',
        'removed after its policy',
        'allowed',
        'removed by an entry of the leader',
        'adopted',
        'record deleted',
        'rebooted',
        'set again',
        'removed after a reboot',
        'entry ended',
        'conflict',
        'values differ',
      ],
    },
  );
});

/** Of all leaders together: each writes a taint three times within the window, and a node has three taints that they may fight about. */
const MAX_WRITES_IN_WINDOW = 20;

/** The most writes of one node within the window of a conflict. */
function mostWrites(writes: readonly ModelWrite[]): number {
  const ofNodes = Map.groupBy(writes, ({ before }) => before.uid);
  const countsOf = (ofNode: readonly ModelWrite[]) =>
    ofNode.map(({ at }) => ofNode.filter((one) => one.at >= at && one.at < at + UNDO_BUDGET.windowMs).length);
  return Math.max(0, ...[...ofNodes.values()].flatMap(countsOf));
}

function clusterWith(cluster: ModelCluster, nodes: readonly Registration[]): ModelCluster {
  return nodes.reduce((so, { by, node, change }) => register(so, by, node, change), cluster);
}

it('another writer that undoes every write of the leader does not keep it writing', () => {
  fc.assert(
    fc.property(
      fc.record({
        specs: taintPolicies,
        isWebhookUp: fc.boolean(),
        nodes: fc.array(registration, { minLength: 1, maxLength: 2 }),
        ready: fc.subarray(['n1', 'n2']),
        other: otherWriter,
      }),
      ({ specs, isWebhookUp, nodes, ready, other }) => {
        const policies = compiled(specs);
        const cluster = clusterWith({ ...newCluster(policies), isWebhookUp, ready: new Set(ready) }, nodes);
        const { writes } = elapse(cluster, [newLeader(policies)], 3 * UNDO_BUDGET.windowMs, other);
        expect(mostWrites(writes)).toBeLessThanOrEqual(MAX_WRITES_IN_WINDOW);
      },
    ),
    { numRuns: 200 },
  );
});

it('two leaders with different policies stop writing, or reach the limit of a conflict, which one of them reports', () => {
  let opposed = 0;
  fc.assert(
    fc.property(
      fc.record({
        one: taintPolicies,
        other: taintPolicies,
        admission: fc.constantFrom<'one' | 'other' | 'none'>('one', 'other', 'none'),
        nodes: fc.array(registration, { minLength: 1, maxLength: 2 }),
        ready: fc.subarray(['n1', 'n2']),
      }),
      ({ one, other, admission, nodes, ready }) => {
        const policies = [compiled(one), compiled(other)] as const;
        const known = { one: policies[0], other: policies[1], none: policies[0] }[admission];
        const cluster = clusterWith(
          { ...newCluster(known), isWebhookUp: admission !== 'none', ready: new Set(ready) },
          nodes,
        );
        const end = elapse(cluster, policies.map(newLeader), 3 * UNDO_BUDGET.windowMs);
        expect(mostWrites(end.writes)).toBeLessThanOrEqual(MAX_WRITES_IN_WINDOW);
        // Nothing is written twice without another writer.
        const late = end.writes.filter(({ at }) => at >= 2 * UNDO_BUDGET.windowMs);
        if (late.length === 0) return;
        opposed++;
        const isReported = end.leaders.some(
          ({ memories, retryAt }) =>
            retryAt.size > 0 || [...memories.values()].some(({ conflicts }) => conflicts.size > 0),
        );
        expect(isReported).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
  expect(opposed).toBeGreaterThan(0);
});

it('a leader removes the startup taints of policies that end, also where the API server refused to remove them before', () => {
  let ended = 0;
  fc.assert(
    fc.property(
      fc.record({
        specs: taintPolicies,
        after: fc.oneof(fc.constant<Policies>({}), taintPolicies),
        nodes: fc.array(registration, { minLength: 1, maxLength: 2 }),
        ready: fc.subarray(['n1', 'n2']),
      }),
      ({ specs, after, nodes, ready }) => {
        const before = clusterWith({ ...newCluster(compiled(specs)), ready: new Set(ready) }, nodes);
        const refused = new Map(nodes.map(({ node }) => [node, 1_000]));
        const { leader, writes } = lead(before, { ...newLeader(before.policies), retryAt: refused });
        expect(writes).toEqual([]);
        const policies = compiled(after);
        const end = elapse({ ...before, policies }, [{ ...leader, policies }], QUIET_MS).cluster;
        for (const { name, labels, taints } of before.nodes.values()) {
          const [was, is] = [declared(specs, labels), declared(after, labels)];
          const ofNobody = taints.filter(
            (taint) =>
              was.untilReady.some((one) => isMet(one, [taint])) &&
              !is.untilReady.some((one) => isMet(one, [taint])) &&
              was.protectorsOf(taint).length + is.protectorsOf(taint).length === 0,
          );
          ended += ofNobody.length;
          const left = end.nodes.get(name)?.taints.map(textOf);
          for (const taint of ofNobody) expect(left).not.toContain(textOf(taint));
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(ended).toBeGreaterThan(0);
});

it('an entry that the leader wrote ends, whatever happens before the write that would remove the taint by it', () => {
  let written = 0;
  fc.assert(
    fc.property(
      fc.record({
        specs: taintPolicies,
        between: fc.oneof(fc.constant(DOMAIN), taintPolicies),
        isRemoved: fc.boolean(),
        after: taintPolicies,
        nodes: fc.array(registration, { minLength: 1, maxLength: 2 }),
        ready: fc.subarray(['n1', 'n2']),
      }),
      ({ specs, between, isRemoved, after, nodes, ready }) => {
        const start = clusterWith(newCluster(compiled(specs)), nodes);
        const seen = lead(start, newLeader(start.policies));
        const [ended, present] = [compiled(between), compiled(after)];
        const noticed = lead({ ...seen.cluster, policies: ended }, { ...seen.leader, policies: ended });
        const now = noticed.cluster.now + POLICY_GONE_MS;
        const { cluster, leader, writes } = lead({ ...noticed.cluster, now }, noticed.leader, 1);
        const allowed = new Map(
          writes.map(({ before, step }) => [before.name, step.startup.needEntry.map(({ taint }) => textOf(taint))]),
        );
        written += [...allowed.values()].flat().length;
        const keep = (name: string) => (one: Taint) => !(isRemoved && allowed.get(name)?.includes(textOf(one)));
        const changed = [...cluster.nodes.values()].map((node) => ({
          ...node,
          taints: node.taints.filter(keep(node.name)),
        }));
        const next = changed.reduce(withNode, { ...cluster, policies: present, ready: new Set(ready) });
        const end = elapse(next, [{ ...leader, policies: present }], QUIET_MS).cluster;
        for (const [name, texts] of allowed) {
          const left = entriesOf(end.nodes.get(name)?.allowRemoval);
          for (const text of texts) expect(left).not.toContain(text);
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(written).toBeGreaterThan(0);
});
