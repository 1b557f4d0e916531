import type { StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, identity, sameTaint, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { ReadyDaemonSet } from '../policy/taint-rule.ts';
import {
  isOver,
  MAX_STARTUP_TAINTS,
  type NodeRecord,
  type RecordedState,
  recordedTime,
  type StartupProgress,
  type StartupState,
  startupIn,
  withRecord,
} from './node-record.ts';

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
  readonly uid: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
}

/**
 * The startup taints that policies require on a node, each once. A policy by which a taint is recorded counts although it no longer
 * selects the node, and although its mode is Audit now.
 */
function startupRequirements(
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

interface ReasonsToStay {
  /** A policy has the taint with `ensure: Always`. */
  isRequired(this: void, taint: Taint): boolean;
  /** A policy restricts the removal of the taint, which the node carries. */
  isRestricted(this: void, taint: Taint): boolean;
}

/** By which rules in force a startup taint stays on the node, although no DaemonSet blocks its removal. */
function reasonsToStay(
  { labels, taints, established }: Pick<StartupNode, 'labels' | 'taints'> & Pick<RecordedState, 'established'>,
  policies: readonly CompiledTaintPolicy[],
): ReasonsToStay {
  const enforced = enforcedPolicies(policies, labels);
  const required = new Set(enforced.flatMap((policy) => policy.required.map(({ value }) => identity(value.taint))));
  const isProtected = (taint: Taint) =>
    enforced.some((policy) => policy.removalRestrictedBy(taint, established) !== undefined);
  return {
    isRequired: (taint) => required.has(identity(taint)),
    isRestricted: (taint) => taints.some((carried) => sameTaint(carried, taint) && isProtected(carried)),
  };
}

export interface StartupFacts {
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
  readonly removable: readonly RemovableTaint[];
  /** The taints to set on the node, which registered without them and is not ready yet. */
  readonly late: readonly StartupRequirement[];
  /** The taints that the node registered without, and that are not set: seen for the first time. */
  readonly missed: readonly StartupRequirement[];
  /** The taints that wait. */
  readonly waiting: readonly WaitingTaint[];
  /** The recorded taints that wait although no policy requires them. */
  readonly unrequired: readonly StartupProgress[];
}

export interface RemovableTaint {
  readonly recorded: StartupProgress;
  /** As a policy states it; without a value if no policy requires it any more. */
  readonly taint: Taint;
  /** Why it is removed, in words. */
  readonly reason: string;
}

export interface WaitingTaint {
  readonly requirement: StartupRequirement;
  /** Undefined if it is not known. */
  readonly blockers: readonly string[] | undefined;
  readonly forMs: number;
  readonly isOverdue: boolean;
}

/**
 * The next step of a node with its startup taints.
 * @param record of the name of the node
 */
export function startupStep(
  node: StartupNode,
  record: NodeRecord | undefined,
  policies: readonly CompiledTaintPolicy[],
  { blockers: blockersOf, unrequiredForMs, now }: StartupFacts,
): StartupStep {
  const progress = startupIn(record, node.uid);
  const requirements = startupRequirements(node, progress, policies);
  const { isRequired, isRestricted } = reasonsToStay(withRecord(node, record, node.uid), policies);
  const thisSecond = recordedTime(now);
  const carried = valuesOf(node.taints);
  const required = new Map(requirements.map((one) => [identity(one.taint), one]));
  const after: StartupProgress[] = [];
  const late: StartupRequirement[] = [];
  const missed: StartupRequirement[] = [];
  const waiting: WaitingTaint[] = [];
  const unrequired: StartupProgress[] = [];

  const wait = (one: StartupProgress, requirement: StartupRequirement | undefined): StartupProgress => {
    const ready: StartupProgress = { ...one, state: 'Ready', since: thisSecond };
    if (requirement === undefined) {
      if (unrequiredForMs(one) >= POLICY_GONE_MS) return ready;
      unrequired.push(one);
      return one;
    }
    const blockers = blockersOf(requirement);
    if (blockers?.length === 0) return ready;
    waiting.push(waitingTaint(requirement, blockers, Math.max(0, now - one.since)));
    return one;
  };

  for (const one of progress) {
    if (isOver(one)) after.push(one);
    // It stays from now on: with `ensure: UntilReady` again, it would be the taint of a node that runs.
    else if (isRequired(one)) continue;
    else if (!carried.has(identity(one))) after.push({ ...one, state: 'Removed', since: thisSecond });
    else after.push(one.state === 'Ready' ? one : wait(one, required.get(identity(one))));
  }
  const known = new Set(progress.map(identity));
  for (const requirement of requirements) {
    const { taint } = requirement;
    if (known.has(identity(taint)) || isRequired(taint)) continue;
    const value = carried.get(identity(taint));
    const ageMs = now - node.createdAt;
    if (after.length >= MAX_STARTUP_TAINTS) {
      if (isSetBy(requirement, value)) waiting.push(waitingTaint(requirement, WITHOUT_ROOM, ageMs));
      continue;
    }
    if (ageMs > REGISTRATION_MS) continue;
    const begin = (state: StartupState): StartupProgress => ({
      key: taint.key,
      effect: taint.effect,
      state,
      policies: requirement.policies,
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
  const removable = after
    .filter((one) => one.state === 'Ready' && !isRestricted(one))
    .map((recorded): RemovableTaint => {
      const requirement = required.get(identity(recorded));
      const { key, effect } = recorded;
      return { recorded, taint: requirement?.taint ?? { key, effect }, reason: removalReason(requirement) };
    });
  return { progress: after, removable, late, missed, waiting, unrequired };
}

function isSetBy({ values }: StartupRequirement, value: string | undefined): boolean {
  return value !== undefined && (values === undefined || values.includes(value));
}

/** What a taint without room in the record of the node waits for. */
const WITHOUT_ROOM = [`the record of the node, which lists ${MAX_STARTUP_TAINTS} startup taints`];

function waitingTaint(
  requirement: StartupRequirement,
  blockers: WaitingTaint['blockers'],
  forMs: number,
): WaitingTaint {
  return { requirement, blockers, forMs, isOverdue: forMs > requirement.progressDeadlineMs };
}

/** `NAMESPACE/NAME` */
export function daemonSetName({ namespace, name }: ReadyDaemonSet): string {
  return `${namespace}/${name}`;
}

/** Why a taint is removed, in words. */
function removalReason(requirement: StartupRequirement | undefined): string {
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
