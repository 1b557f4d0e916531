import { ApiError } from '../../cluster/client/api-error.ts';
import type { NativeObject, NativeVersions } from '../../cluster/native-policies.ts';
import { type PolicyObject, versionOf } from '../../cluster/policy-object.ts';
import type { NativeLimit, NativeTranslation } from '../../native/native-policy.ts';
import type { Ownership } from '../managed-objects.ts';
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
  readonly installation: Ownership;
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
  /** The first error of the API server. */
  readonly fault: ApiError | undefined;
}

/**
 * Writes the native policies that policies require, and deletes the others. If the API server refuses those of one policy, the others are written,
 * and what is in force of that policy stays.
 * @param found all native policies that a leader has written
 */
export async function applyNatives(
  backed: readonly TranslatedPolicy[],
  found: readonly NativeObject[],
  { writer, versions, namespace, installation, unreadable }: NativeRunContext,
): Promise<NativeRun> {
  const present = new Map(found.map((object) => [titleOf(object), object]));
  const states = new Map<string, BackstopState>();
  const desiredTitles = new Set<string>();
  const waits: number[] = [];
  const faults: ApiError[] = [];
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
    const desired = desiredNatives(policies, { policy, namespace, mutatingVersion: versions.mutating, installation });
    for (const one of desired) desiredTitles.add(titleOf(one));
    const applied: NativeObject[] = [];
    try {
      for (const one of desired) applied.push(await applyOne(one));
    } catch (error) {
      if (error instanceof NotOursError) return { what: 'NotOurs', object: error.message };
      if (!(error instanceof ApiError)) throw error;
      faults.push(error);
      return stateOfFault(error);
    }
    return stateOf(applied, limits);
  }

  /** Earlier native policies of a policy protect more than none. */
  function keep(natives: readonly NativeObject[]): void {
    for (const object of natives) desiredTitles.add(titleOf(object));
  }

  async function applyOne(desired: DesiredNative): Promise<NativeObject> {
    const applied = await writer.apply(desired, present.get(titleOf(desired)), versions);
    if (applied.written) hasWritten = true;
    if (applied.waitMs !== undefined) waits.push(applied.waitMs);
    return { ...applied.object, kind: desired.kind };
  }

  /** Bindings are deleted before policies, and validation before mutation. */
  async function removeOthers(): Promise<void> {
    const others = found.filter((object) => !desiredTitles.has(titleOf(object)));
    const last = (a: NativeObject, b: NativeObject) => (a.kind > b.kind ? -1 : a.kind < b.kind ? 1 : 0);
    for (const one of others.toSorted(last)) {
      try {
        const waitMs = await writer.remove(one, versions);
        if (waitMs !== undefined) waits.push(waitMs);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        faults.push(error);
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

function stateOf(applied: readonly NativeObject[], limits: readonly NativeLimit[]): BackstopState {
  // The controller manager checks the types of these alone.
  const validating = applied.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
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
  const natives = [...new Set(applied.map(({ metadata }) => metadata.name))];
  return { what: 'InForce', natives, limits, isChecked };
}
