import {
  POLICY_API_VERSION,
  type Policy,
  type PolicyKind,
  type PolicyResult,
  parseStoredPolicy,
} from '../../policy/policy.ts';
import type { Path } from '../../policy/problem.ts';
import { unusableText } from '../../policy/reporting/policy-messages.ts';
import { conditionOf, type PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { saysUnusable } from '../../policy/reporting/status-conditions.ts';

/** A policy as it is enforced. */
export interface PolicyInForce {
  /** The `metadata.generation` of its object. */
  readonly generation: number;
  readonly policy: Policy;
  /** Fields of it that this version does not know. */
  readonly ignored: readonly Path[];
}

/** A policy object of the cluster, whether or not it can be used. */
export interface PolicyObject {
  readonly kind: PolicyKind;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** Its current spec. */
  readonly result: PolicyResult;
  /** The current spec, or the last usable one that this process has seen. Undefined if it has seen none. */
  readonly inForce: PolicyInForce | undefined;
  /** The last written status, for comparison. */
  readonly status: unknown;
}

/** Identifies one spec of one object. */
export function versionOf({ uid, generation }: Pick<PolicyObject, 'uid' | 'generation'>): string {
  return `${uid}@${generation}`;
}

/** The same for an object of the API server. */
export function storedVersionOf(object: unknown): string {
  const { metadata } = object as StoredObject;
  return versionOf({ uid: metadata.uid, generation: generationOf(metadata) });
}

/** {@link versionOf} the spec in force, if any. */
export function versionInForce({ uid, inForce }: Pick<PolicyObject, 'uid' | 'inForce'>): string | undefined {
  return inForce && versionOf({ uid, generation: inForce.generation });
}

/** The policies as they are enforced: for one that is no longer valid, its last valid generation. */
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

function generationOf({ generation = 0 }: StoredObject['metadata']): number {
  return generation;
}

/**
 * The kept fields of an object of the API server.
 * @param known the earlier spec in force of the same object, if it was seen
 */
export function viewPolicy(kind: PolicyKind, object: unknown, known?: PolicyInForce): PolicyObject {
  const { metadata, status } = object as StoredObject;
  const generation = generationOf(metadata);
  // Items of a list have no kind and apiVersion.
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
 * Why the spec of a policy cannot be used. Undefined for one that can. Only the replicas know whether an earlier generation is in force, and the
 * leader writes it to the condition Ready.
 */
export function policyFault({ result, generation, status }: PolicyObject): string | undefined {
  if (result.ok) return undefined;
  const ready = conditionOf(status, 'Ready');
  return ready && saysUnusable(ready) && ready.observedGeneration === generation
    ? ready.message
    : unusableText(generation, result.problems);
}
