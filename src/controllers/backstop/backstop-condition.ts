import { NATIVE_RESOURCES, type NativeObject } from '../../cluster/admission-registration/native-policies.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import { howToGrant, missingRightText } from '../../cluster/rights/rights.ts';
import { formatLabels } from '../../kubernetes/label-selector.ts';
import type { NativeLimit } from '../../native/translation.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import { NATIVE_NEEDED_BY, type NativelyExpressible } from '../../policy/backstop.ts';
import type { NativeCondition } from '../../policy/reporting/status-conditions.ts';
import { atMost } from '../../text/counts.ts';
import { printable } from '../../text/printable.ts';
import { DELETIONS_SEEN_IN } from '../managed-objects.ts';

/** The state of the native policies of one policy. */
export type BackstopState =
  /** All of the policy that native policies can express is in force. */
  | {
      readonly what: 'InForce';
      readonly natives: readonly string[];
      readonly limits: readonly NativeLimit[];
      /** Whether the API server has checked the types in all of them. */
      readonly isChecked: boolean;
    }
  /** They are in force, and the type check of the API server warns about their expressions. */
  | { readonly what: 'TypeChecking'; readonly warnings: readonly string[] }
  /** Native policies can express nothing of the policy. */
  | { readonly what: 'NothingNative'; readonly limits: readonly NativeLimit[] }
  /** taintkeeper may not write native policies. */
  | { readonly what: 'NotPermitted' }
  | LeftInForce
  /** The API server has no native policies. */
  | { readonly what: 'Unsupported' }
  /** The API server could not evaluate it. */
  | { readonly what: 'NotTranslated'; readonly message: string }
  /** Another writer has created an object of that name. */
  | { readonly what: 'NotOurs'; readonly object: string }
  /** The object differs from what the policy requires, and no write failed, or another writer makes it differ again and again. */
  | { readonly what: 'Conflict'; readonly object: string; readonly isDeleted: boolean }
  /** The API server refused them as invalid, or answered with an error. */
  | { readonly what: 'Refused'; readonly message: string }
  /** The API server does not let taintkeeper write them. */
  | { readonly what: 'Forbidden'; readonly message: string };

/** taintkeeper may no longer write native policies, nor delete those that it wrote before. They stay in force. */
export interface LeftInForce {
  readonly what: 'LeftInForce';
  readonly natives: readonly NativeObject[];
}

/** The most texts of one message. */
const MAX_LISTED = 8;

/** The state of a policy whose native policies could not be read or written. */
export function stateOfFault(error: unknown): BackstopState {
  return { what: isForbidden(error) ? 'Forbidden' : 'Refused', message: (error as Error).message };
}

/** The state as a condition: Ready of a TolerationRestriction, Backstop of the other kinds. */
export function nativeCondition(state: BackstopState, kind: NativelyExpressible['kind']): NativeCondition {
  const message = messageOf(state, kind);
  return state.what === 'InForce'
    ? { status: 'True', reason: state.what, message }
    : { status: 'False', reason: state.what, message };
}

function messageOf(state: BackstopState, kind: NativelyExpressible['kind']): string {
  switch (state.what) {
    case 'InForce': {
      const unchecked = state.isChecked ? '' : '; the API server has not yet type-checked them';
      return `in force: ${state.natives.join(', ')}${unchecked}${limitsOf(state.limits, kind)}`;
    }
    case 'TypeChecking':
      return `the API server warns: ${list(state.warnings)}. That is a fault of taintkeeper: please report it`;
    case 'NothingNative':
      return `nothing of this policy can be expressed as a native policy${limitsOf(state.limits, kind)}; ${removal(kind)}change these fields`;
    case 'NotPermitted':
      return missingRightText('nativePolicies', NATIVE_NEEDED_BY[kind]);
    case 'LeftInForce': {
      const names = [...new Set(state.natives.map(({ metadata }) => metadata.name))];
      // Bindings first: without them, policies do nothing.
      const resources = [...new Set(state.natives.map(({ kind }) => NATIVE_RESOURCES[kind]))].sort().reverse();
      return (
        `taintkeeper may no longer write native policies. These stay in force as last written, whatever changes in the ${kind}: ` +
        `${names.join(', ')}. To let taintkeeper update or remove them: ${howToGrant('nativePolicies')}. To remove the native ` +
        `policies of all policies: kubectl delete ${resources.join(',')} -l ${formatLabels(MANAGED_LABELS)}`
      );
    }
    case 'Unsupported':
      return 'the API server has no ValidatingAdmissionPolicy in version v1: Kubernetes 1.30 or newer is needed';
    case 'NotOurs':
      return `${state.object} exists and is not taintkeeper's: delete it, and taintkeeper creates it within a minute`;
    case 'Conflict':
      return state.isDeleted
        ? `another writer deletes ${state.object}: ${DELETIONS_SEEN_IN}. taintkeeper restores it within a minute`
        : `another writer changes ${state.object}: see its managedFields. taintkeeper restores it within a minute`;
    case 'NotTranslated':
    case 'Refused':
      return printable(state.message);
    case 'Forbidden':
      return `${printable(state.message)}: compare the ClusterRole with that of the manifests`;
  }
}

function removal(kind: NativelyExpressible['kind']): string {
  return kind === 'TolerationRestriction' ? '' : 'remove backstop: Native, or ';
}

function limitsOf(limits: readonly NativeLimit[], kind: NativelyExpressible['kind']): string {
  const when = kind === 'TolerationRestriction' ? '' : 'while taintkeeper is down: ';
  return limits.length === 0 ? '' : `; ${when}${list(limits.map(({ field, message }) => `${field}: ${message}`))}`;
}

function list(texts: readonly string[]): string {
  return atMost(MAX_LISTED, texts.map(printable)).join('; ');
}
