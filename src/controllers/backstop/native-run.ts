import type { NativeObject, NativeVersions } from '../../cluster/admission-registration/native-policies.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { type PolicyObject, versionOf } from '../../cluster/policies/policy-object.ts';
import { hasFields } from '../../kubernetes/desired-fields.ts';
import type { NativeLimit, NativeTranslation } from '../../native/translation.ts';
import type { Ownership } from '../cluster-role-owner.ts';
import { type BackstopState, stateOfFault } from './backstop-condition.ts';
import { type DesiredNative, desiredNatives } from './desired-native-policies.ts';
import { type NativeWriter, NotOursError, titleOf } from './native-writer.ts';

export type NamedPolicy = Pick<PolicyObject, 'kind' | 'name' | 'uid' | 'generation'>;

/** A policy that requires native policies, and its translation. */
export interface TranslatedPolicy {
  readonly object: NamedPolicy;
  readonly translation: NativeTranslation;
}

export interface NativeRunContext {
  readonly writer: NativeWriter;
  readonly versions: NativeVersions;
  /** The namespace of taintkeeper. */
  readonly namespace: string;
  readonly installationOwner: Ownership;
  /** Policies that cannot be read. Their native policies stay. */
  readonly unreadable: readonly NamedPolicy[];
}

/** The result of a run. */
export interface NativeRun {
  /** By {@link versionOf}. */
  readonly states: ReadonlyMap<string, BackstopState>;
  readonly hasWritten: boolean;
  /** In how many milliseconds another run is due. */
  readonly waits: readonly number[];
  /** The first error of a write. */
  readonly fault: Error | undefined;
}

/**
 * Writes the native policies that policies require, and deletes the others. If the API server refuses those of one policy, the others are written,
 * and what is in force of that policy stays. After a write without an answer, nothing more is written. The state of a policy is that of its stored
 * objects, as found or as answered by the writes, whether or not a write failed.
 * @param found all native policies that a leader has written
 */
export async function applyNatives(
  backed: readonly TranslatedPolicy[],
  found: readonly NativeObject[],
  { writer, versions, namespace, installationOwner, unreadable }: NativeRunContext,
): Promise<NativeRun> {
  const present = new Map(found.map((object) => [titleOf(object), object]));
  const states = new Map<string, BackstopState>();
  const desiredTitles = new Set<string>();
  const waits: number[] = [];
  const faults: Error[] = [];
  let unanswered: Error | undefined;
  let hasWritten = false;

  for (const policy of unreadable) keep(nativesOf(policy, found));
  for (const one of backed) states.set(versionOf(one.object), await apply(one));
  await removeOthers();
  return { states, hasWritten, waits, fault: faults[0] };

  async function apply({ object: policy, translation }: TranslatedPolicy): Promise<BackstopState> {
    const { policies, limits, refusal } = translation;
    if (refusal !== undefined) {
      keep(nativesOf(policy, found));
      return { what: 'NotTranslated', message: refusal };
    }
    if (policies.length === 0) return { what: 'NothingNative', limits };
    const desired = desiredNatives(policies, {
      policy,
      namespace,
      mutatingVersion: versions.mutating,
      installationOwner,
    });
    for (const one of desired) desiredTitles.add(titleOf(one));
    let fault: Error | undefined;
    try {
      for (const one of desired) await applyOne(one);
    } catch (error) {
      if (error instanceof NotOursError) return { what: 'NotOurs', object: error.message };
      fault = noted(error as Error);
    }
    const differing = desired.find((one) => !decidesAs(one, present.get(titleOf(one))));
    if (differing) writer.differs(differing);
    if (differing && fault) return stateOfFault(fault);
    const inConflict = differing ?? desired.find(writer.isInConflict);
    if (inConflict) {
      const object = titleOf(inConflict);
      return { what: 'Conflict', object, isDeleted: !present.has(object) };
    }
    const stored = desired.flatMap((one) => present.get(titleOf(one)) ?? []);
    return stateOf(stored, limits);
  }

  function noted(fault: Error): Error {
    if (!(fault instanceof ApiError)) unanswered ??= fault;
    faults.push(fault);
    return fault;
  }

  /** Earlier native policies of a policy protect more than none. */
  function keep(natives: readonly NativeObject[]): void {
    for (const object of natives) desiredTitles.add(titleOf(object));
  }

  async function applyOne(desired: DesiredNative): Promise<void> {
    if (unanswered) throw unanswered;
    const title = titleOf(desired);
    const { object, written, waitMs } = await writer.apply(desired, present.get(title), versions);
    if (written) hasWritten = true;
    if (waitMs !== undefined) waits.push(waitMs);
    if (object) present.set(title, { ...object, kind: desired.kind });
    else present.delete(title);
  }

  /** Bindings are deleted before policies, and validation before mutation. */
  async function removeOthers(): Promise<void> {
    const others = found.filter((object) => !desiredTitles.has(titleOf(object)));
    const last = (a: NativeObject, b: NativeObject) => (a.kind > b.kind ? -1 : a.kind < b.kind ? 1 : 0);
    for (const one of others.toSorted(last)) {
      if (unanswered) return;
      try {
        const waitMs = await writer.remove(one, versions);
        if (waitMs !== undefined) waits.push(waitMs);
      } catch (error) {
        noted(error as Error);
      }
    }
  }
}

/** The native objects of the policy: it owns the native policies, and their bindings have the same names. */
export function nativesOf({ uid }: Pick<NamedPolicy, 'uid'>, found: readonly NativeObject[]): NativeObject[] {
  const owned = found.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  const names = new Set(owned.map(({ metadata }) => metadata.name));
  return found.filter(({ metadata }) => names.has(metadata.name));
}

/** Whether the stored object decides as desired. Its labels and owners do not change that. */
function decidesAs({ spec }: DesiredNative, stored: NativeObject | undefined): boolean {
  return stored !== undefined && hasFields(stored.spec, spec);
}

function stateOf(stored: readonly NativeObject[], limits: readonly NativeLimit[]): BackstopState {
  // The controller manager checks the types of these alone.
  const validating = stored.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  const warnings = validating.flatMap(({ metadata, status }) =>
    (status?.typeChecking?.expressionWarnings ?? []).map(({ fieldRef, warning }) => {
      const [first = ''] = warning.split('\n');
      return `${metadata.name}, ${fieldRef}: ${first}`;
    }),
  );
  if (warnings.length > 0) return { what: 'TypeChecking', warnings };
  const isChecked = validating.every(
    ({ metadata, status }) => (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1),
  );
  const natives = [...new Set(stored.map(({ metadata }) => metadata.name))];
  return { what: 'InForce', natives, limits, isChecked };
}
