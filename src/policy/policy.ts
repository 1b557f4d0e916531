import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import * as Value from 'typebox/value';
import { valueAt } from '../kubernetes/json.ts';
import { ObjectName } from './field-schemas.ts';
import { type Path, type Problem, shownValue } from './problem.ts';
import { DEFAULT_RECOVERY_MODE, type RecoveryPolicySpec, RecoveryPolicySpecSchema } from './recovery-policy.ts';
import { schemaProblems, unknownFieldsIn } from './schema-problems.ts';
import { checkSelector } from './selector.ts';
import {
  checkTaintPolicy,
  type TaintPolicySpec,
  TaintPolicySpecSchema,
  type UnknownPart,
  unknownPartsOf,
} from './taint-policy.ts';
import { checkTolerationPolicy, type TolerationPolicySpec, TolerationPolicySpecSchema } from './toleration-policy.ts';
import {
  checkTolerationRestriction,
  type TolerationRestrictionSpec,
  TolerationRestrictionSpecSchema,
} from './toleration-restriction.ts';

export const POLICY_API_GROUP = 'taintkeeper.dev';
export const POLICY_VERSION = 'v1alpha1';
export const POLICY_API_VERSION = `${POLICY_API_GROUP}/${POLICY_VERSION}` as const;

export interface TaintPolicy {
  readonly kind: 'TaintPolicy';
  readonly name: string;
  readonly spec: TaintPolicySpec;
  /** Fields of startup taints that this version does not know. Absent if there are none, and for a policy from a file. */
  readonly unknownParts?: readonly UnknownPart[];
}

export interface TolerationPolicy {
  readonly kind: 'TolerationPolicy';
  readonly name: string;
  readonly spec: TolerationPolicySpec;
}

export interface TolerationRestriction {
  readonly kind: 'TolerationRestriction';
  readonly name: string;
  readonly spec: TolerationRestrictionSpec;
}

export interface RecoveryPolicy {
  readonly kind: 'RecoveryPolicy';
  readonly name: string;
  readonly spec: RecoveryPolicySpec;
}

export type Policy = TaintPolicy | TolerationPolicy | TolerationRestriction | RecoveryPolicy;
export type PolicyKind = Policy['kind'];
/** The kinds that select objects, and whose status counts those that violate the policy. */
export type SelectingKind = Exclude<PolicyKind, 'TolerationRestriction'>;

/** Whether the policy selects DaemonSets by `spec.daemonSets`. */
export function isForDaemonSets(policy: Policy): policy is TolerationPolicy | RecoveryPolicy {
  return policy.kind === 'TolerationPolicy' || policy.kind === 'RecoveryPolicy';
}

/** The policy's mode, or its default. */
export function modeOf({ spec }: Policy): string {
  return spec.mode ?? DEFAULT_RECOVERY_MODE;
}

/** The schema of the whole object, from a file or from the API server. */
const manifestSchema = <Spec extends TSchema>(kind: PolicyKind, spec: Spec) =>
  Type.Object(
    {
      apiVersion: Type.Enum([POLICY_API_VERSION]),
      kind: Type.Enum([kind]),
      metadata: Type.Object({ name: ObjectName }),
      spec,
      status: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  );

const TaintPolicySchema = manifestSchema('TaintPolicy', TaintPolicySpecSchema);
const TolerationPolicySchema = manifestSchema('TolerationPolicy', TolerationPolicySpecSchema);
const TolerationRestrictionSchema = manifestSchema('TolerationRestriction', TolerationRestrictionSpecSchema);
const RecoveryPolicySchema = manifestSchema('RecoveryPolicy', RecoveryPolicySpecSchema);

const SCHEMAS: Readonly<Record<PolicyKind, TSchema>> = {
  TaintPolicy: TaintPolicySchema,
  TolerationPolicy: TolerationPolicySchema,
  TolerationRestriction: TolerationRestrictionSchema,
  RecoveryPolicy: RecoveryPolicySchema,
};

/** The policy that was read, or its problems. */
export type PolicyResult =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads one policy from parsed YAML or JSON. Reports every problem, not only the first. */
export function parsePolicy(value: unknown): PolicyResult {
  return parseKnown(value, []);
}

/** @param ignored the fields that were removed from the policy because this version does not know them */
function parseKnown(value: unknown, ignored: readonly Path[]): PolicyResult {
  const kind = valueAt(value, ['kind']);
  switch (kind) {
    case 'TaintPolicy':
      return checked(TaintPolicySchema, value, ({ metadata, spec }) => {
        const unknownParts = unknownPartsOf(spec, ignored);
        return {
          policy: { kind, name: metadata.name, spec, ...(unknownParts.length > 0 ? { unknownParts } : {}) },
          problems: [
            ...checkSelector(['spec', 'nodeSelector'], spec.nodeSelector),
            ...checkTaintPolicy(spec, unknownParts),
          ],
        };
      });
    case 'TolerationPolicy':
      return checked(TolerationPolicySchema, value, ({ metadata, spec }) => ({
        policy: { kind, name: metadata.name, spec },
        problems: [
          ...checkSelector(['spec', 'daemonSets', 'selector'], spec.daemonSets.selector),
          ...checkTolerationPolicy(spec),
        ],
      }));
    case 'TolerationRestriction':
      return checked(TolerationRestrictionSchema, value, ({ metadata, spec }) => ({
        policy: { kind, name: metadata.name, spec },
        problems: checkTolerationRestriction(spec),
      }));
    case 'RecoveryPolicy':
      return checked(RecoveryPolicySchema, value, ({ metadata, spec }) => ({
        policy: { kind, name: metadata.name, spec },
        problems: checkSelector(['spec', 'daemonSets', 'selector'], spec.daemonSets.selector),
      }));
    default:
      return refused(
        kind === undefined ? [] : ['kind'],
        `expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got ${shownValue(kind)}`,
      );
  }
}

/** The fields of a policy that its kind does not have. */
function unknownFields(value: unknown): Path[] {
  const kind = valueAt(value, ['kind']);
  return typeof kind === 'string' && Object.hasOwn(SCHEMAS, kind)
    ? unknownFieldsIn(SCHEMAS[kind as PolicyKind], value)
    : [];
}

function refused(path: Path, message: string): PolicyResult {
  return { ok: false, problems: [{ path, message }] };
}

function checked<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  read: (manifest: Type.Static<Schema>) => { policy: Policy; problems: Problem[] },
): PolicyResult {
  if (!Value.Check(schema, value)) return { ok: false, problems: schemaProblems(schema, value) };
  const { policy, problems } = read(value);
  return problems.length === 0 ? { ok: true, policy } : { ok: false, problems };
}

/** The result of reading a policy of the API server. */
export interface StoredPolicy {
  readonly result: PolicyResult;
  /** Fields that this version does not know. They are ignored. */
  readonly ignored: readonly Path[];
}

/**
 * Reads a policy of the API server. Its definition may belong to another version of the program, so an unknown field does not make a policy invalid.
 * A startup taint with an unknown field stays on the nodes: the field may be a further condition. In files, an unknown field is an error, because it is
 * probably a typing error (see {@link parsePolicy}).
 */
export function parseStoredPolicy(value: unknown): StoredPolicy {
  const ignored = unknownFields(value);
  return { result: parseKnown(without(value, ignored), ignored), ignored };
}

function without(value: unknown, fields: readonly Path[]): unknown {
  const copy = structuredClone(value);
  for (const path of fields) {
    const parent = path.slice(0, -1).reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], copy);
    delete (parent as Record<string, unknown>)[path.at(-1) as string];
  }
  return copy;
}
