import type { StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { ReadyDaemonSet } from '../policy/taint-rule.ts';

/**
 * The progress of a taint of `ensure: UntilReady` on a node. Waiting: the node carries the taint. Ready: the taint is to be removed. Removed: the node
 * no longer carries it. Missed: the node registered without it. Removed and Missed are final.
 */
export const STARTUP_STATES = ['Waiting', 'Ready', 'Removed', 'Missed'] as const;
export type StartupState = (typeof STARTUP_STATES)[number];

/** What the NodeTaintRecord of a node says of one startup taint. */
export interface StartupProgress {
  readonly key: string;
  readonly effect: string;
  readonly state: StartupState;
  /** The policies by which the taint is recorded. */
  readonly policies: readonly string[];
  /** When the state became what it is, in milliseconds since the epoch: whole seconds. */
  readonly since: number;
}

/** The most startup taints of one record: the definition has the same limit. */
export const MAX_STARTUP_TAINTS = 16;

/**
 * The leader takes no startup taint of an older node over, and sets none there: the node registered before the policy required the taint, or the
 * leader was unavailable for too long.
 */
export const REGISTRATION_MS = 900_000;

/** A policy that is deleted and created again within this time changes nothing. */
export const POLICY_GONE_MS = 10_000;

/** The taint of the node lifecycle controller on a node that is not Ready. */
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** A startup taint of a node, with what policies say of it together. */
export interface StartupRequirement {
  readonly taint: Taint;
  /** The values with which policies set it. Absent if one of them names none: then any value counts. */
  readonly values?: readonly string[];
  readonly policies: readonly string[];
  /** Each once. */
  readonly daemonSets: readonly ReadyDaemonSet[];
  readonly progressDeadlineMs: number;
}

export interface StartupNode {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
}

/**
 * The startup taints that policies require on a node, each once. A policy by which a taint is recorded counts although it no longer
 * selects the node, and although its mode is Audit now.
 */
export function startupRequirements(
  { labels }: Pick<StartupNode, 'labels'>,
  progress: readonly StartupProgress[],
  policies: readonly CompiledTaintPolicy[],
): StartupRequirement[] {
  const recorded = new Set(progress.flatMap((one) => one.policies.map((name) => `${name} ${identity(one)}`)));
  const stated = policies.flatMap((policy) =>
    policy.untilReady
      .filter(
        ({ value: { taint } }) =>
          recorded.has(`${policy.name} ${identity(taint)}`) || (policy.mode !== 'Audit' && policy.selectsNode(labels)),
      )
      .map(({ value }) => ({ policy: policy.name, ...value })),
  );
  return [...Map.groupBy(stated, ({ taint }) => identity(taint)).values()].flatMap((alike) => {
    const [first] = alike;
    if (!first) return [];
    const named = alike.flatMap(({ daemonSets }) => daemonSets);
    return {
      taint: first.taint,
      ...(alike.some(({ anyValue }) => anyValue)
        ? {}
        : { values: [...new Set(alike.map(({ taint }) => taint.value ?? ''))] }),
      policies: [...new Set(alike.map(({ policy }) => policy))].sort(),
      daemonSets: [...new Map(named.map((one) => [daemonSetName(one), one])).values()],
      progressDeadlineMs: Math.min(...alike.map(({ progressDeadlineMs }) => progressDeadlineMs)),
    };
  });
}

/** Required: a policy has it with `ensure: Always`. Restricted: a policy restricts its removal. */
export type StartupKeeping = 'Required' | 'Restricted' | undefined;

/** By which rule in force a startup taint stays on the node, although no DaemonSet blocks its removal. */
export function startupKeeping(
  { labels, taints, established }: Omit<StartupNode, 'createdAt'> & { readonly established: (taint: Taint) => boolean },
  policies: readonly CompiledTaintPolicy[],
): (taint: Pick<Taint, 'key' | 'effect'>) => StartupKeeping {
  const enforced = enforcedPolicies(policies, labels);
  const required = new Set(enforced.flatMap((policy) => policy.required.map(({ value }) => identity(value.taint))));
  const carried = new Map(taints.map((taint) => [identity(taint), taint]));
  return (taint) => {
    if (required.has(identity(taint))) return 'Required';
    const found = carried.get(identity(taint));
    const isRestricted =
      found && enforced.some((policy) => policy.removalRestrictedBy(found, established) !== undefined);
    return isRestricted ? 'Restricted' : undefined;
  };
}

export interface StartupFacts {
  readonly node: StartupNode;
  /** What the record says of the node with this uid. */
  readonly progress: readonly StartupProgress[];
  readonly requirements: readonly StartupRequirement[];
  /** See {@link startupKeeping}. */
  readonly keptBy: (taint: Pick<Taint, 'key' | 'effect'>) => StartupKeeping;
  /** What a taint waits for, in words: none if it can be removed; undefined if that is not known. */
  readonly blockers: (requirement: StartupRequirement) => readonly string[] | undefined;
  /** For how long no policy has required the recorded taint, in milliseconds. */
  readonly unrequiredForMs: (recorded: StartupProgress) => number;
  readonly now: number;
}

export interface StartupStep {
  /** The record as it is to be. */
  readonly progress: readonly StartupProgress[];
  /** The taints to remove once the record is written. */
  readonly removable: readonly StartupProgress[];
  /** The taints to set on the node, which registered without them and is not ready yet. */
  readonly late: readonly StartupRequirement[];
  /** The taints that the node registered without, and that are not set: seen for the first time. */
  readonly missed: readonly StartupRequirement[];
  /** The taints that wait. */
  readonly waiting: readonly WaitingTaint[];
}

export interface WaitingTaint {
  readonly requirement: StartupRequirement;
  /** Undefined if it is not known. */
  readonly blockers: readonly string[] | undefined;
  readonly forMs: number;
  readonly isOverdue: boolean;
}

/** The next step of a node with its startup taints. */
export function stepStartup(facts: StartupFacts): StartupStep {
  const { node, progress, requirements, now } = facts;
  const thisSecond = Math.floor(now / 1000) * 1000;
  const carried = valuesOf(node.taints);
  const required = new Map(requirements.map((one) => [identity(one.taint), one]));
  const after: StartupProgress[] = [];
  const late: StartupRequirement[] = [];
  const missed: StartupRequirement[] = [];
  const waiting: WaitingTaint[] = [];

  const wait = (one: StartupProgress, requirement: StartupRequirement | undefined): StartupProgress => {
    const ready: StartupProgress = { ...one, state: 'Ready', since: thisSecond };
    if (requirement === undefined) return facts.unrequiredForMs(one) < POLICY_GONE_MS ? one : ready;
    const blockers = facts.blockers(requirement);
    if (blockers?.length === 0) return ready;
    const forMs = Math.max(0, now - one.since);
    waiting.push({ requirement, blockers, forMs, isOverdue: forMs > requirement.progressDeadlineMs });
    return one;
  };

  for (const one of progress) {
    if (isOver(one)) after.push(one);
    // It stays from now on: with `ensure: UntilReady` again, it would be the taint of a node that runs.
    else if (facts.keptBy(one) === 'Required') continue;
    else if (!carried.has(identity(one))) after.push({ ...one, state: 'Removed', since: thisSecond });
    else after.push(one.state === 'Ready' ? one : wait(one, required.get(identity(one))));
  }
  const known = new Set(progress.map(identity));
  for (const requirement of requirements) {
    const { taint, policies } = requirement;
    if (known.has(identity(taint)) || facts.keptBy(taint) === 'Required') continue;
    const value = carried.get(identity(taint));
    const ageMs = now - node.createdAt;
    if (after.length >= MAX_STARTUP_TAINTS) {
      if (isSetBy(requirement, value)) waiting.push(withoutRoom(requirement, ageMs));
      continue;
    }
    if (ageMs > REGISTRATION_MS) continue;
    const begin = (state: StartupState): StartupProgress => ({
      key: taint.key,
      effect: taint.effect,
      state,
      policies,
      since: thisSecond,
    });
    if (value !== undefined) {
      // With another value, it is the taint of another writer.
      if (isSetBy(requirement, value)) after.push(wait(begin('Waiting'), requirement));
    } else if (carried.has(identity(NOT_READY))) late.push(requirement);
    else {
      missed.push(requirement);
      after.push(begin('Missed'));
    }
  }
  const removable = after.filter((one) => one.state === 'Ready' && facts.keptBy(one) === undefined);
  return { progress: after, removable, late, missed, waiting };
}

function isSetBy({ values }: StartupRequirement, value: string | undefined): boolean {
  return value !== undefined && (values === undefined || values.includes(value));
}

function withoutRoom(requirement: StartupRequirement, forMs: number): WaitingTaint {
  const blockers = [`the record of the node, which lists ${MAX_STARTUP_TAINTS} startup taints`];
  return { requirement, blockers, forMs, isOverdue: forMs > requirement.progressDeadlineMs };
}

/** Whether nothing more is done about the taint on this node. */
export function isOver({ state }: Pick<StartupProgress, 'state'>): boolean {
  return state === 'Removed' || state === 'Missed';
}

/** Whether a node without a startup taint may still get it: it has registered, and no pod can have been scheduled to it. */
export function mayBeSetLate(node: Pick<StartupNode, 'taints'>, taint: Taint): boolean {
  const carried = new Set(node.taints.map(identity));
  return carried.has(identity(NOT_READY)) && !carried.has(identity(taint));
}

/** `NAMESPACE/NAME` */
export function daemonSetName({ namespace, name }: ReadyDaemonSet): string {
  return `${namespace}/${name}`;
}

/** Why a taint is removed, in words. */
export function removalReason(requirement: StartupRequirement | undefined): string {
  if (requirement === undefined) return 'no policy requires it any more';
  const names = requirement.daemonSets.map(daemonSetName);
  return names.length === 1 ? `DaemonSet ${names[0]} is ready` : `DaemonSets ${names.join(', ')} are ready`;
}

/** For example `startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cilium: its pod is not Ready`. */
export function waitingText({
  requirement,
  blockers = ['its DaemonSets, which were not checked'],
}: Pick<WaitingTaint, 'requirement' | 'blockers'>): string {
  return `startup taint ${formatTaint(requirement.taint)} waits for ${blockers.join(', and ')}`;
}
