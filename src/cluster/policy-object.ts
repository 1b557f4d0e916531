import {
  POLICY_API_VERSION,
  type Policy,
  type PolicyKind,
  type PolicyResult,
  parseStoredPolicy,
} from '../policy/policy.ts';
import { conditionOf, type PolicyStatus, unusableText } from '../policy/policy-status.ts';
import type { Path } from '../policy/problem.ts';
import { saysUnusable } from '../policy/status-conditions.ts';

/** A policy as it is in force. */
export interface PolicyInForce {
  /** The `metadata.generation` of the object that it comes from. */
  readonly generation: number;
  readonly policy: Policy;
  /** Fields of it that this version does not know. */
  readonly ignored: readonly Path[];
}

/** A policy object as it stands in the cluster, whether or not it can be used. */
export interface PolicyObject {
  readonly kind: PolicyKind;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** What it says now. */
  readonly result: PolicyResult;
  /** That, or the last usable spec that this process has seen; undefined where it has seen none. */
  readonly inForce: PolicyInForce | undefined;
  /** As last written, for comparison. */
  readonly status: unknown;
}

/** What tells one spec of one object from all others. */
export function versionOf({ uid, generation }: Pick<PolicyObject, 'uid' | 'generation'>): string {
  return `${uid}@${generation}`;
}

/** {@link versionOf} what is in force of it, if anything is. */
export function versionInForce({ uid, inForce }: Pick<PolicyObject, 'uid' | 'inForce'>): string | undefined {
  return inForce && versionOf({ uid, generation: inForce.generation });
}

/** The policies as they are enforced: of one that is not valid any more, the last generation that was. */
export function policiesInForce(objects: readonly Pick<PolicyObject, 'inForce'>[]): Policy[] {
  return objects.flatMap(({ inForce }) => inForce?.policy ?? []);
}

/** Whether the leader that wrote the policy's status runs with --audit. */
export function runsInAudit({ status }: Pick<PolicyObject, 'status'>): boolean {
  return (status as PolicyStatus | undefined)?.audit ?? false;
}

interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion: string;
  };
  readonly status?: unknown;
}

/**
 * What is kept of an object as the API server gives it.
 * @param known what was in force of the same object before, if that was seen
 */
export function viewPolicy(kind: PolicyKind, object: unknown, known?: PolicyInForce): PolicyObject {
  const { metadata, status } = object as StoredObject;
  const generation = metadata.generation ?? 0;
  // Items of a list come without kind and apiVersion.
  const { result, ignored } = parseStoredPolicy({ ...(object as object), kind, apiVersion: POLICY_API_VERSION });
  return {
    kind,
    name: metadata.name,
    uid: metadata.uid,
    generation,
    resourceVersion: metadata.resourceVersion,
    result,
    inForce: result.ok ? { generation, policy: result.policy, ignored } : known,
    status,
  };
}

/**
 * Why the spec of a policy cannot be used; undefined for one that can. Only the replicas know whether an earlier generation is in force:
 * the leader writes it to the condition Ready.
 */
export function whyUnusable({ result, generation, status }: PolicyObject): string | undefined {
  if (result.ok) return undefined;
  const ready = conditionOf(status, 'Ready');
  return ready && saysUnusable(ready) && ready.observedGeneration === generation
    ? ready.message
    : unusableText(generation, result.problems);
}
