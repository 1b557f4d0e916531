import {
  POLICY_API_VERSION,
  type Policy,
  type PolicyKind,
  type PolicyResult,
  parseStoredPolicy,
} from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import type { Path } from '../policy/problem.ts';

/** A policy as it is in force. */
export interface PolicyInForce {
  /** The `metadata.generation` of the object that it comes from. */
  readonly generation: number;
  readonly policy: Policy;
  /** As it stood in the object. */
  readonly spec: unknown;
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
  /** That, or the last that could be used of what it said before; undefined where none is known. */
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
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * What is kept of an object as the API server gives it.
 * @param known what was in force of the same object before, if that was seen
 */
export function viewPolicy(kind: PolicyKind, object: unknown, known?: PolicyInForce): PolicyObject {
  const { metadata, spec, status } = object as StoredObject;
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
    inForce: result.ok
      ? { generation, policy: result.policy, spec, ignored }
      : later(known, fromStatus(kind, metadata.name, status, generation)),
    status,
  };
}

/** What another replica, or this one before it was restarted, has seen in force before `generation`. */
function fromStatus(kind: PolicyKind, name: string, status: unknown, generation: number): PolicyInForce | undefined {
  const { inForce } = (status ?? {}) as PolicyStatus;
  if (!Number.isInteger(inForce?.generation) || !inForce || inForce.generation >= generation) return undefined;
  const { spec } = inForce;
  const stored = { apiVersion: POLICY_API_VERSION, kind, metadata: { name }, spec };
  const { result, ignored } = parseStoredPolicy(stored);
  return result.ok ? { generation: inForce.generation, policy: result.policy, spec, ignored } : undefined;
}

function later(a: PolicyInForce | undefined, b: PolicyInForce | undefined): PolicyInForce | undefined {
  return a && b ? (b.generation > a.generation ? b : a) : (a ?? b);
}
