import type { Logger } from 'pino';
import type { AdmissionRequest } from '../../admission/admission-review.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { listFew } from '../../cluster/list/list-objects.ts';
import { type ClusterNode, keepNode } from '../../cluster/objects/cluster-objects.ts';
import type { PolicySnapshot } from '../../cluster/policies/policies.ts';
import { oncePer } from '../../collections/once-per.ts';
import type { ClusterState } from '../../controllers/cluster-state.ts';
import { startupWarnings } from '../../judge/ended-startup-taints.ts';
import { mayKeepStartupTaints, mayLeaveStartupTaints } from '../../judge/policy/policy-change.ts';
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
import { parseStoredPolicy, type TaintPolicy } from '../../policy/policy.ts';
import { enforcedWithoutAuditAmong } from '../../policy/policy-index.ts';
import { waitingIn } from '../../policy/reporting/policy-status.ts';
import { throttle } from '../../runtime/throttle.ts';
import { tokenBucket } from '../../runtime/token-bucket.ts';
import { nodeWarnings } from './node-warnings.ts';
import { readStartupObjects, type StartupObjects } from './startup-objects.ts';
import { startupRuleWarnings } from './startup-rule-warnings.ts';

/** Warnings for users who write a policy. */
export type WarnOnApply = (request: AdmissionRequest) => Promise<readonly string[]>;

/** Some 40 MB in all, read page by page and not kept. In a larger cluster only the leader, which has the nodes in memory, warns. */
const MOST_NODES = 1_000;
/** The labels and taints of these nodes together, which take 40 MB at most: users decide how many labels a node has. */
const MOST_VALUES = 200_000;
/** The API server waits half a second longer. */
const TIMEOUT_MS = 1_500;

/**
 * Ten policies are compared with the others and with the nodes at once, and then one in five seconds, also by the leader, which reads nothing. Every
 * pod can send reviews. Each of them would make the API server list all nodes, or take a tenth of a second of the leader. Without warnings, the policy
 * is applied as well.
 */
const COMPARED_AT_ONCE = 10;
const COMPARED_EVERY_MS = 5_000;

export interface ApplyWarningsOptions {
  readonly client: ApiClient;
  /** The pods of this Service are taintkeeper's own. */
  readonly service: ServiceRef;
  /** While this replica leads. */
  readonly clusterState: () => Pick<ClusterState, 'isSynced' | 'nodes'> | undefined;
  /** The policies in force. */
  readonly policies: () => Pick<PolicySnapshot, 'policies' | 'compiled'>;
  readonly log: Logger;
}

/**
 * Warns of a TaintPolicy that is probably misspelled, and of nodes that wait with startup taints of a policy that is deleted. Without all nodes there is no
 * warning about keys, because a key may be on an unknown node.
 */
export function policyWarnings({ client, service, clusterState, policies, log }: ApplyWarningsOptions): WarnOnApply {
  const complain = throttle((missed) =>
    log.warn({ missed }, 'nodes or DaemonSets cannot be read: no warnings on policies'),
  );
  const comparisons = tokenBucket(COMPARED_AT_ONCE, COMPARED_EVERY_MS);
  /** The read in progress: never two at a time. Its result is not used again, because nodes may change as a result of the warning. */
  let reading: Promise<readonly ClusterNode[] | undefined> | undefined;

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
    return startupWarnings(waiting, waiting > 0 && policy && mayKeep(policy) ? 'may' : 'will');
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
    const [objects, nodes] = await Promise.all([startupObjectsOf(policy, signal), knownNodes()]);
    const ofNodes = nodes && (await nodeWarnings(policy, { nodes, before, others, signal }));
    const { selected = [], companions = [] } = ofNodes ?? {};
    const surroundings = objects && { objects, others, selected, companions, now: client.now() };
    const ofStartup = surroundings && (await startupRuleWarnings(policy, surroundings));
    const left = !nodes && before && mayLeaveStartupTaints(before, policy) ? startupWarnings(waiting, 'may') : [];
    return presentableWarnings([...(ofStartup ?? []), ...(ofNodes?.warnings ?? left)]);
  }

  async function startupObjectsOf(
    policy: CompiledTaintPolicy,
    signal: AbortSignal,
  ): Promise<StartupObjects | undefined> {
    if (!isEnforced(policy)) return undefined;
    try {
      return await readStartupObjects(client, service, policy, signal);
    } catch (error) {
      log.debug({ err: error }, 'the DaemonSets of startup taints cannot be read');
      complain();
      return undefined;
    }
  }

  function knownNodes(): Promise<readonly ClusterNode[] | undefined> {
    const own = clusterState();
    if (own?.isSynced()) return Promise.resolve(own.nodes());
    reading ??= readNodes().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readNodes(): Promise<readonly ClusterNode[] | undefined> {
    const bounds = { most: MOST_NODES, timeoutMs: TIMEOUT_MS };
    let values = 0;
    const keep = (object: unknown) => {
      const node = keepNode(object);
      values += Object.keys(node.labels).length + node.taints.length;
      if (values > MOST_VALUES) throw new Error(`the nodes have more than ${MOST_VALUES} labels and taints`);
      return node;
    };
    try {
      return await listFew(client, '/api/v1/nodes', keep, bounds);
    } catch (error) {
      log.debug({ err: error }, 'the nodes cannot be read');
      complain();
      return undefined;
    }
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

/** A TaintPolicy that its schema allows has some 7,000 values at most, 4,200 of them in selectors: the API server refuses a larger one. */
const MAX_VALUES = 10_000;

/** Undefined for a policy of another kind, and for an invalid one, whose status reports the problems. */
function taintPolicyIn(object: unknown): TaintPolicy | undefined {
  if (hasMoreValues(valueAt(object, ['spec']), MAX_VALUES)) return undefined;
  const { result } = parseStoredPolicy(object);
  return result.ok && result.policy.kind === 'TaintPolicy' ? result.policy : undefined;
}

function hasMoreValues(value: unknown, most: number): boolean {
  const open = [value];
  let seen = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (++seen + open.length > most) return true;
    if (typeof one !== 'object' || one === null) continue;
    for (const part of Object.values(one)) open.push(part);
  }
  return false;
}
