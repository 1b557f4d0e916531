import type { NativeObject } from '../../cluster/admission-registration/native-policies.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import { type PolicyObject, versionInForce, versionOf } from '../../cluster/policies/policy-object.ts';
import { needsNativePolicies } from '../../policy/backstop.ts';
import type { NativeCondition } from '../../policy/reporting/status-conditions.ts';
import { type BackstopState, type LeftInForce, nativeCondition, stateOfFault } from './backstop-condition.ts';
import { type NamedPolicy, nativesOf } from './native-run.ts';

/** What a run has found. */
export interface BackstopStates {
  /** Of the policies that require native policies, by {@link versionInForce}. */
  readonly required: ReadonlyMap<string, BackstopState>;
  /** Of the policies whose native policies taintkeeper may no longer write, by {@link versionOf} of the present version. */
  readonly leftInForce: ReadonlyMap<string, LeftInForce>;
}

export const NO_STATES: BackstopStates = { required: new Map(), leftInForce: new Map() };

/** @param versions of the policies that require native policies */
export function sameState(versions: readonly string[], state: BackstopState): BackstopStates['required'] {
  return new Map(versions.map((version) => [version, state]));
}

/**
 * The states after a run that failed before it wrote native policies. While the API server does not answer, what was in force stays in force.
 * @param required the versions of the policies that require native policies
 */
export function statesAfterFault(known: BackstopStates, required: readonly string[], fault: unknown): BackstopStates {
  const unknown = sameState(required, stateOfFault(fault));
  if (!isForbidden(fault)) return { ...known, required: new Map([...unknown, ...known.required]) };
  return required.length === 0 ? known : { ...NO_STATES, required: unknown };
}

/** The native policies that were written before and are still in force. */
export function leftInForce(
  objects: readonly NamedPolicy[],
  found: readonly NativeObject[],
): BackstopStates['leftInForce'] {
  return new Map(
    objects.flatMap((object): [string, LeftInForce][] => {
      const natives = nativesOf(object, found);
      // Without a binding, they do nothing.
      const isInForce = natives.some(({ kind }) => kind.endsWith('Binding'));
      return isInForce ? [[versionOf(object), { what: 'LeftInForce', natives }]] : [];
    }),
  );
}

/** The condition of the policy. Undefined: the policy requires no native policies. `pending`: not known until the next run. */
export function conditionIn(states: BackstopStates, object: PolicyObject): NativeCondition | 'pending' | undefined {
  const { kind } = object;
  if (kind === 'RecoveryPolicy') return undefined;
  // Native policies that are in force are reported, whether or not the policy requires them.
  const left = states.leftInForce.get(versionOf(object));
  if (left) return nativeCondition(left, kind);
  const version = versionInForce(object);
  if (version === undefined || !object.inForce || !needsNativePolicies(object.inForce.policy)) return undefined;
  // Until the next run, those of a version that is no longer the present one are still reported as left in force.
  const state = states.leftInForce.get(version) ?? states.required.get(version);
  return state ? nativeCondition(state, kind) : 'pending';
}
