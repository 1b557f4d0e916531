import type { Logger } from 'pino';
import type { AdmissionRequest } from '../../admission/admission-review.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import type { PolicySnapshot } from '../../cluster/policies/policies.ts';
import { oncePer } from '../../collections/once-per.ts';
import { mayKeepStartupTaints, mayLeaveStartupTaints } from '../../judge/policy/policy-change.ts';
import { startupWarnings } from '../../judge/startup-loss-warnings.ts';
import { valueAt } from '../../kubernetes/json.ts';
import { isPattern } from '../../kubernetes/pattern.ts';
import { presentableWarnings } from '../../kubernetes/warnings.ts';
import {
  type CompiledTaintPolicy,
  compileTaintPolicy,
  inDeclaredMode,
  startupKeysOf,
} from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import type { TaintPolicy } from '../../policy/policy.ts';
import { enforcedWithoutAuditAmong } from '../../policy/policy-index.ts';
import { waitingIn } from '../../policy/reporting/policy-status.ts';
import { throttle } from '../../runtime/throttle.ts';
import { tokenBucket } from '../../runtime/token-bucket.ts';
import { type KnownNodesOptions, knownNodes } from './known-nodes.ts';
import { nodeWarnings } from './node-warnings.ts';
import { taintPolicyIn } from './reviewed-policy.ts';
import { readStartupObjects, type StartupObjects } from './startup-objects.ts';
import { startupRuleWarnings } from './startup-rule-warnings.ts';

/** Warnings for users who write a policy. */
export type WarnOnApply = (request: AdmissionRequest) => Promise<readonly string[]>;

/** The API server waits half a second longer. */
const TIMEOUT_MS = 1_500;

/**
 * Ten policies are compared with the others and with the nodes at once, and then one in five seconds, also by the leader, which reads nothing. Every
 * pod can send reviews. Each of them would make the API server list all nodes, or take a tenth of a second of the leader. Without warnings, the policy
 * is applied as well.
 */
const COMPARED_AT_ONCE = 10;
const COMPARED_EVERY_MS = 5_000;

export interface ApplyWarningsOptions extends Pick<KnownNodesOptions, 'client' | 'clusterState'> {
  /** The pods of this Service are taintkeeper's own. */
  readonly service: ServiceRef;
  /** The policies in force. */
  readonly policies: () => Pick<PolicySnapshot, 'policies' | 'compiled'>;
  /** Whether a usable spec of each TaintPolicy is known. */
  readonly isComplete: () => boolean;
  readonly log: Logger;
}

/**
 * Returns a function for the warnings about a TaintPolicy that a user applies or deletes:
 * - keys that look misspelled, a selector of no node, and conditions, resources and CSI drivers that no node has
 * - contradictions with other policies
 * - nodes whose taints the policy no longer protects
 * - startup taints that would remain: its own, or those of another policy
 * - nodes that wait with its startup taint and lose it. A deletion has only this warning
 *
 * If not all nodes are known, only those are given that need none, because a key may be on an unknown node.
 */
export function policyWarnings({
  client,
  service,
  clusterState,
  policies,
  isComplete,
  log,
}: ApplyWarningsOptions): WarnOnApply {
  const complain = throttle((missed) =>
    log.warn({ missed }, 'nodes or DaemonSets cannot be read: no warnings on policies'),
  );
  const comparisons = tokenBucket(COMPARED_AT_ONCE, COMPARED_EVERY_MS);
  const allNodes = knownNodes({
    client,
    clusterState,
    timeoutMs: TIMEOUT_MS,
    onFailure: (error) => reportUnread('the nodes', error),
  });

  /** Compares a policy in force with the others once, however often it is asked: every pod can send reviews. */
  const mayKeep = oncePer((policy: CompiledTaintPolicy) => {
    const others = othersThan(policy.name);
    return mayKeepStartupTaints(inDeclaredMode(policy), compiledOthers(others, startupKeysOf(others)));
  });

  // Not async: during the reads, the objects of the review would stay in memory.
  return ({ operation, object, oldObject }) => {
    const waiting = waitingIn(valueAt(oldObject, ['status']));
    if (operation === 'DELETE') return Promise.resolve(warningsOnDeletion(oldObject, waiting));
    const policy = taintPolicyIn(object);
    if (!policy || !comparisons.take()) return Promise.resolve([]);
    const before = oldObject === undefined || oldObject === null ? undefined : taintPolicyIn(oldObject);
    const others = othersThan(policy.name);
    const startupKeys = startupKeysOf([...others, policy]);
    return warningsOn(compileTaintPolicy(policy, { startupKeys }), {
      before: before && compileTaintPolicy(before, { startupKeys: startupKeysOf([...others, before]) }),
      others: compiledOthers(others, startupKeys),
      waiting,
    });
  };

  function warningsOnDeletion(deleted: unknown, waiting: number): readonly string[] {
    const named = valueAt(deleted, ['metadata', 'name']);
    const policy = policies().compiled.taintPolicies.find(({ name }) => name === named);
    const mayStay = waiting > 0 && (!isComplete() || (policy !== undefined && mayKeep(policy)));
    return startupWarnings(waiting, mayStay ? 'may' : 'will');
  }

  function othersThan(changed: string): TaintPolicy[] {
    return policies()
      .policies.filter((policy) => policy.kind === 'TaintPolicy')
      .filter(({ name }) => name !== changed);
  }

  /**
   * The other policies that do more than report, as they will be. Only those with a key `DOMAIN/*`, which leaves out the startup keys of all policies, are
   * compiled again: a large selector takes long.
   */
  function compiledOthers(others: readonly TaintPolicy[], startupKeys: readonly string[]): CompiledTaintPolicy[] {
    const sources = new Map(others.map((policy) => [policy.name, policy]));
    return enforcedWithoutAuditAmong(policies().compiled.taintPolicies).flatMap((compiled) => {
      const source = sources.get(compiled.name);
      if (!source) return [];
      return source.spec.taints.some(({ key }) => isPattern(key))
        ? compileTaintPolicy(source, { startupKeys })
        : compiled;
    });
  }

  async function warningsOn(
    policy: CompiledTaintPolicy,
    { before, others, waiting }: PolicyChange,
  ): Promise<readonly string[]> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const [objects, nodes] = await Promise.all([startupObjectsOf(policy, signal), allNodes()]);
    const { warnings, idle, selected, companions } = nodes
      ? await nodeWarnings(policy, { nodes, before, others, isComplete: isComplete(), signal })
      : {
          warnings: before && mayLeaveStartupTaints(before, policy) ? startupWarnings(waiting, 'may') : [],
          idle: [],
          selected: [],
          companions: [],
        };
    const ofStartup = objects
      ? await startupRuleWarnings(policy, { objects, others, selected, companions, now: client.now() })
      : [];
    // Only the first are shown.
    return presentableWarnings([...warnings, ...ofStartup, ...idle]);
  }

  async function startupObjectsOf(
    policy: CompiledTaintPolicy,
    signal: AbortSignal,
  ): Promise<StartupObjects | undefined> {
    if (!isEnforced(policy)) return undefined;
    try {
      return await readStartupObjects(client, service, policy, signal);
    } catch (error) {
      reportUnread('the DaemonSets of startup taints', error);
      return undefined;
    }
  }

  function reportUnread(what: string, error: unknown): void {
    log.debug({ err: error }, `${what} cannot be read`);
    complain();
  }
}

/** What surrounds a policy that is about to be applied. */
interface PolicyChange {
  /** The policy as it was, compiled together with the others. */
  readonly before: CompiledTaintPolicy | undefined;
  /** The other policies that do more than report, as they will be. */
  readonly others: readonly CompiledTaintPolicy[];
  /** How many nodes wait with a startup taint of the policy, by its status. */
  readonly waiting: number;
}
