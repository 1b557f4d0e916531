import type { PolicyKind } from '../../policy/policy.ts';

export const POLICY_RESOURCES = {
  TaintPolicy: 'taintpolicies',
  TolerationPolicy: 'tolerationpolicies',
  TolerationRestriction: 'tolerationrestrictions',
  RecoveryPolicy: 'recoverypolicies',
} as const;
export const POLICY_GROUP = '/apis/taintkeeper.dev/v1alpha1';

export const POLICY_KINDS = Object.keys(POLICY_RESOURCES) as PolicyKind[];
