import { POLICY_API_VERSION, type PolicyKind } from '../../policy/policy.ts';

export const POLICY_RESOURCES = {
  TaintPolicy: 'taintpolicies',
  TolerationPolicy: 'tolerationpolicies',
  TolerationRestriction: 'tolerationrestrictions',
  RecoveryPolicy: 'recoverypolicies',
} as const;
export const POLICY_KINDS = Object.keys(POLICY_RESOURCES) as PolicyKind[];

/** The discovery document of the policies' API, below which are its objects. */
export const POLICY_API_PATH = `/apis/${POLICY_API_VERSION}`;

/** The path of all policies of the kind. */
export function policiesPath(kind: PolicyKind): string {
  return `${POLICY_API_PATH}/${POLICY_RESOURCES[kind]}`;
}
